// SPDX-License-Identifier: BSD-3-Clause
//
// The highest rate that a device forwards without loss, or with a tolerated share of it, found by
// trials that may be noisy. RFC 2544, section 26.1, asks for the rate alone; here an interval is
// reported, and a verdict is refused where the generator or noise was the limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"

namespace sluice::engine::pktgen {

/// What a trial offers: frames at a steady rate.
struct Offer {
  double rate_pps;    ///< > 0.
  double duration_s;  ///< > 0.
};

/// Share of the frames that the generator may fail to send in a valid trial.
inline constexpr double kToleratedUnsent = 1e-4;

/// What came of it: counted after the last frame was sent and stragglers had their time.
struct Outcome {
  /// Whether less was offered than was asked for: it says nothing about the device.
  bool Short(double tolerated = kToleratedUnsent) const {
    return offered == 0 || static_cast<double>(unsent) > tolerated * static_cast<double>(offered);
  }

  uint64_t offered = 0;    ///< Frames that were due.
  uint64_t unsent = 0;     ///< Of these, the generator's own loss: it could not send them.
  uint64_t lost = 0;       ///< Sent and not returned.
  bool disturbed = false;  ///< The host took time from the generator: the trial says nothing.
  double overrun_s = 0;    ///< How long after the end of the trial the last frame left.
};

/// Runs one trial. Nothing: it was stopped before its end, and so is the test: no trial follows.
using Measure = absl::FunctionRef<std::optional<Outcome>(const Offer&)>;

struct RateSearch {
  /// Of the line. > 0.
  double max_pps;
  /// What the generator sent and counted on a loopback: nothing is offered above it. > 0.
  double generator_pps;
  /// Share of the frames sent that may be lost: 0 for the non-drop rate (NDR), above it for the
  /// partial drop rate (PDR).
  double tolerated_loss = 0;
  /// Relative width of the interval asked for; it is wider where trials show so. A device with a
  /// buffer hides an excess of less than the buffer over a trial: precision * rate * trial_s should
  /// be more frames than it holds.
  double precision = 0.005;
  /// Of a trial that is judged; RFC 2544 asks for 60 s.
  double trial_s = 10;
  /// Of a trial that only guides the search.
  double probe_s = 1;
  /// Share of the frames that the generator may fail to send in a valid trial.
  double tolerated_unsent = kToleratedUnsent;
  /// No search runs more trials.
  uint32_t max_trials = 200;
};

/// What set the upper end of the interval.
enum class RateLimit : uint8_t {
  kDevice,     ///< It lost frames above it.
  kLine,       ///< It lost none at the line's rate.
  kGenerator,  ///< The generator cannot send faster: the device carries at least `low_pps`.
  kNoise,      ///< Trials contradict each other, or the host disturbed them: no verdict.
  kStopped,    ///< The search was stopped before its end: no verdict.
};
std::string_view NameOf(RateLimit limit);

/// A trial of a search, in order.
struct TrialRecord {
  Offer offer;
  Outcome outcome;
  bool passed;
};

/// Without a verdict, the ends of the interval are where the search was.
struct FoundRate {
  RateLimit limit = RateLimit::kNoise;
  /// The highest rate that was judged to pass; 0: none was.
  double low_pps = 0;
  /// The lowest rate above it that was judged to fail; equal to `low_pps` where the line or the
  /// generator is the limit.
  double high_pps = 0;
  /// Least probability that the interval holds the rate at which half of all trials fail: 0.95, for
  /// every device whose trials are independent and fail more often at higher rates. 0 where there
  /// is no verdict.
  double confidence = 0;
  std::vector<TrialRecord> trials;  ///< Those that came to their end.
};

/// Ramps up from a thousandth of the rate, so that tables fill gently; closes in with probes, then
/// judges both ends of the interval by full trials, which are repeated until three more say one
/// thing than the other. Then it proves both ends by new trials: a sequential test whose error does
/// not depend on how the search came there. An end that does not hold moves away from the other
/// one: the interval is wider than asked for where the device's rate wanders, up to a quarter;
/// beyond, there is no verdict. Disturbed trials are repeated, ten times at most.
FoundRate FindRate(const RateSearch& search, Measure measure);

}  // namespace sluice::engine::pktgen
