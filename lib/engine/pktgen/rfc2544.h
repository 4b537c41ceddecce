// SPDX-License-Identifier: BSD-3-Clause
//
// The frame loss rate and back-to-back tests of RFC 2544, sections 26.3 and 26.4, on trials.
// Throughput (26.1) is FindRate with no tolerated loss; latency (26.2) is read from trials at it.
// A trial counts if the host did not disturb it and everything was offered in time; any other is
// repeated, ten times at most, after which there is no verdict. Each test ends at a trial that was
// stopped, and returns what it found before.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/pktgen/rate_search.h"

namespace sluice::engine::pktgen {

/// Why there is no verdict.
enum class Refusal : uint8_t {
  kNone,       ///< There is one.
  kStopped,    ///< A trial was stopped before its end.
  kGenerator,  ///< It could not send what was to be offered.
  kHost,       ///< It disturbed trials, ten in a row.
};

/// What RFC 9004, section 7, reports of repetitions.
struct Spread {
  double average = 0;
  double minimum = 0;
  double maximum = 0;
  double deviation = 0;  ///< The standard deviation of a sample; 0 of one value.
};
/// All are 0 of no value.
Spread SpreadOf(std::span<const double> values);

/// Of the line, in percent, and what was lost there.
struct LossAtRate {
  uint32_t percent = 0;
  std::vector<Outcome> trials;  ///< In order, those that do not count among them.
  std::vector<double> losses;   ///< Lost of those sent, in percent, of each trial that counts.
  Outcome counted;              ///< Frames of these trials together.
  Refusal refusal = Refusal::kNone;
};

/// From 100 % of `max_pps` down in steps of 10 % of it, `repeats` times each, until two rates in a
/// row lost nothing. A rate without a verdict is passed over.
std::vector<LossAtRate> FrameLossRate(double max_pps, double trial_s, uint32_t repeats,
                                      Measure measure);

struct BackToBack {
  /// The longest burst without loss of each whole repetition, in frames; as long as `longest` where
  /// no burst lost any.
  std::vector<uint64_t> bursts;
  uint64_t longest = 0;  ///< Frames of the longest burst that is offered.
  Refusal refusal = Refusal::kNone;
};

/// Bursts at `max_pps` of at most `longest_s` seconds (RFC 2544 asks for 2), found to one part in
/// 200, `repeats` times (50).
BackToBack LongestBursts(double max_pps, double longest_s, uint32_t repeats, Measure measure);

}  // namespace sluice::engine::pktgen
