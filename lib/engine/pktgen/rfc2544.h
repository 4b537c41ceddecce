// SPDX-License-Identifier: BSD-3-Clause
//
// The frame loss rate and back-to-back tests of RFC 2544, sections 26.3 and 26.4. Throughput (26.1)
// is FindRate with no tolerated loss; latency (26.2) is measured in trials at that rate. A trial is
// valid if the host did not disturb it and its frames were sent in time; the frame loss rate test
// tolerates a share of kToleratedUnsent. An invalid trial is repeated; after ten invalid trials,
// the test or rate has no verdict. Each test ends when a trial is stopped, and returns the results
// so far.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/pktgen/rate_search.h"

namespace sluice::engine::pktgen {

/// Reason why there is no verdict. After ten invalid trials, it is the reason why the last one was
/// invalid.
enum class Refusal : uint8_t {
  kNone,       ///< There is a verdict.
  kStopped,    ///< A trial was stopped before its end.
  kGenerator,  ///< The generator could not send the offered frames in time.
  kHost,       ///< The host disturbed the trial.
};

/// Statistics over repetitions, which RFC 9004, section 7, requires in reports.
struct Spread {
  double average = 0;
  double minimum = 0;
  double maximum = 0;
  double deviation = 0;  ///< Sample standard deviation; 0 for a single value.
};
/// Returns the spread of `values`; all members are 0 if it is empty.
Spread SpreadOf(std::span<const double> values);

/// A rate, in percent of the maximum rate, and the loss at that rate.
struct LossAtRate {
  uint32_t percent = 0;
  std::vector<Outcome> trials;  ///< All trials in order, including invalid ones.
  std::vector<double> losses;   ///< Percentage of sent frames that were lost, for each valid trial.
  Outcome counted;              ///< Sums of the frame counts of valid trials.
  Refusal refusal = Refusal::kNone;
};

/// Tests rates from 100 % of `max_pps` down to 10 % in steps of 10 %, `repeats` times each. Ends
/// early after two consecutive rates without loss. A rate without a verdict is reported with its
/// refusal, and the next rate is tested.
std::vector<LossAtRate> FrameLossRate(double max_pps, double trial_s, uint32_t repeats,
                                      Measure measure);

struct BackToBack {
  /// Length in frames of the longest burst without loss, for each complete repetition: `longest` if
  /// no burst lost a frame, 0 if even a burst of one frame was lost.
  std::vector<uint64_t> bursts;
  uint64_t longest = 0;  ///< Length of the longest offered burst, in frames.
  Refusal refusal = Refusal::kNone;
};

/// Finds the longest bursts without loss at `max_pps`, with a precision of one part in 200.
/// `longest_s` limits the duration of a burst. RFC 2544 requires a `longest_s` of 2 and 50
/// `repeats`.
BackToBack LongestBursts(double max_pps, double longest_s, uint32_t repeats, Measure measure);

}  // namespace sluice::engine::pktgen
