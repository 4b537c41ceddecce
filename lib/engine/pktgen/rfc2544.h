// SPDX-License-Identifier: BSD-3-Clause
//
// The frame loss rate and back-to-back tests of RFC 2544, sections 26.3 and 26.4, on trials.
// Throughput (26.1) is FindRate with no tolerated loss; latency (26.2) is read from trials at it.
// Each ends at a trial that was stopped, and returns what it found before.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/pktgen/rate_search.h"

namespace sluice::engine::pktgen {

/// Of the line, in percent, and what was lost there.
struct LossAtRate {
  uint32_t percent;
  Outcome outcome;
};

/// From 100 % of `max_pps` down in steps of 10 % of it, until two trials in a row lost nothing.
std::vector<LossAtRate> FrameLossRate(double max_pps, double trial_s, Measure measure);

struct BackToBack {
  /// The longest burst without loss of each whole repetition, in frames; as long as `longest` where
  /// no burst lost any.
  std::vector<uint64_t> bursts;
  uint64_t longest = 0;  ///< Frames of the longest burst that was offered.
};

/// Bursts at `max_pps` of at most `longest_s` seconds (RFC 2544 asks for 2), found to one part in
/// 200, `repeats` times (50).
BackToBack LongestBursts(double max_pps, double longest_s, uint32_t repeats, Measure measure);

}  // namespace sluice::engine::pktgen
