// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the highest rate that a device forwards without loss, or with a tolerated share of loss,
// from trials that may be noisy. RFC 2544, section 26.1, requires only a rate. This search returns
// an interval, or no verdict if trials were too noisy.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"

namespace sluice::engine::pktgen {

/// Parameters of a trial: frames at a constant rate.
struct Offer {
  double rate_pps;    ///< > 0.
  double duration_s;  ///< > 0.
};

/// Share of the frames that the generator may fail to send in a valid trial.
inline constexpr double kToleratedUnsent = 1e-4;

/// Result of a trial, counted after the last frame was sent and late frames had time to arrive.
struct Outcome {
  /// Returns whether the generator sent so few frames that the trial does not measure the device.
  bool Short(double tolerated = kToleratedUnsent) const {
    return offered == 0 || static_cast<double>(unsent) > tolerated * static_cast<double>(offered);
  }

  uint64_t offered = 0;    ///< Frames that were due.
  uint64_t unsent = 0;     ///< Due frames that the generator could not send.
  uint64_t lost = 0;       ///< Frames sent but not returned.
  bool disturbed = false;  ///< The host delayed the generator, so the trial is invalid.
  double overrun_s = 0;    ///< Time from the end of the trial until the last frame was sent.
};

/// Runs one trial. Returns nullopt if it was stopped, which also stops the test: no trial follows.
using Measure = absl::FunctionRef<std::optional<Outcome>(const Offer&)>;

struct RateSearch {
  /// Maximum rate of the line; must be above 0.
  double max_pps;
  /// Rate that the generator can send and count on a loopback; must be above 0. Higher rates are
  /// not offered.
  double generator_pps;
  /// Share of the sent frames that may be lost: 0 for the non-drop rate (NDR), greater for the
  /// partial drop rate (PDR).
  double tolerated_loss = 0;
  /// Requested relative width of the interval; the interval is wider if trials require it. A device
  /// hides an excess if its buffer can hold the excess frames of a trial, so precision * rate *
  /// trial_s should exceed the number of frames in the buffer.
  double precision = 0.005;
  /// Duration of a full trial; RFC 2544 requires 60 s.
  double trial_s = 10;
  /// Duration of a probe, which only guides the search.
  double probe_s = 1;
  /// Share of the frames that the generator may fail to send in a valid trial.
  double tolerated_unsent = kToleratedUnsent;
  /// Maximum number of trials.
  uint32_t max_trials = 200;
};

/// The limit that determined the upper end of the interval.
enum class RateLimit : uint8_t {
  kDevice,     ///< The device lost frames at higher rates.
  kLine,       ///< The device lost no frames at line rate.
  kGenerator,  ///< The generator cannot send faster; the device forwards at least `low_pps`.
  kNoise,  ///< No verdict: trials contradict each other, too many were disturbed, or max_trials was
           ///< reached.
  kStopped,  ///< No verdict: the search was stopped before its end.
};
std::string_view NameOf(RateLimit limit);

/// One trial of a search.
struct TrialRecord {
  Offer offer;
  Outcome outcome;
  bool passed;
};

/// Result of a search. Without a verdict, the interval is the state in which the search ended.
struct FoundRate {
  RateLimit limit = RateLimit::kNoise;
  /// The highest rate that passed; 0 if none did.
  double low_pps = 0;
  /// The lowest rate above `low_pps` that failed; equal to `low_pps` if no rate failed.
  double high_pps = 0;
  /// Minimum probability that the interval contains the rate at which half of all trials fail. It
  /// is 0.95 if the trials are independent and fail more often at higher rates; 0 without a
  /// verdict.
  double confidence = 0;
  std::vector<TrialRecord> trials;  ///< All completed trials, in order.
};

/// Increases the rate from a thousandth of the maximum, so that tables fill gradually, and narrows
/// the interval with probes. Then checks both ends with full trials, which are repeated until the
/// counts of passed and failed trials differ by three. Finally proves both ends by new trials, in a
/// sequential test whose error does not depend on the search. An end that trials contradict moves
/// outwards. Therefore the interval is wider than requested if the device's rate varies.
///
/// The search ends without a verdict if the ratio of the ends exceeds 1.25. Disturbed trials are
/// repeated; there is no verdict if ten consecutive trials, or more than half of all trials, were
/// disturbed.
FoundRate FindRate(const RateSearch& search, Measure measure);

}  // namespace sluice::engine::pktgen
