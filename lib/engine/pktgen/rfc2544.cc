// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pktgen/rfc2544.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace sluice::engine::pktgen {
namespace {

constexpr uint32_t kStepPercent = 10;
constexpr uint64_t kBurstPrecision = 200;  // One part of so many.

// What the generator did not send did not pass either: the burst had a gap.
bool PassesWhole(const Outcome& outcome) {
  return !outcome.disturbed && outcome.lost == 0 && outcome.unsent == 0;
}

// The longest burst that passes, begun at a guess: gallops away from it, then bisects. Nothing: a
// trial was stopped.
std::optional<uint64_t> LongestBurst(uint64_t guess, uint64_t longest, double max_pps,
                                     Measure measure) {
  uint64_t low = 0, high = longest + 1;  // Passed, failed; neither end is offered.
  const auto offer = [&](uint64_t frames) {
    const auto outcome = measure({max_pps, static_cast<double>(frames) / max_pps});
    if (outcome) (PassesWhole(*outcome) ? low : high) = frames;
    return outcome.has_value();
  };
  for (uint64_t next = guess, step = std::max<uint64_t>(guess / 16, 1); high - low > 1; step *= 2) {
    if (!offer(next)) return std::nullopt;
    if (low != 0 && high <= longest) break;
    if (low == longest) return longest;
    next = low == next ? std::min(next + step, longest) : next - std::min(step, next - 1);
    if (next == high) return 0;  // Not even one frame.
  }
  while (high - low > std::max<uint64_t>(low / kBurstPrecision, 1)) {
    if (!offer(low + (high - low) / 2)) return std::nullopt;
  }
  return low;
}

}  // namespace

std::vector<LossAtRate> FrameLossRate(double max_pps, double trial_s, Measure measure) {
  std::vector<LossAtRate> rates;
  uint32_t clean = 0;
  for (uint32_t percent = 100; percent >= kStepPercent && clean < 2; percent -= kStepPercent) {
    const std::optional<Outcome> outcome = measure({max_pps * percent / 100, trial_s});
    if (!outcome) break;
    rates.push_back({percent, *outcome});
    clean = outcome->lost == 0 ? clean + 1 : 0;
  }
  return rates;
}

BackToBack LongestBursts(double max_pps, double longest_s, uint32_t repeats, Measure measure) {
  BackToBack found;
  found.longest = std::max<uint64_t>(static_cast<uint64_t>(std::llround(max_pps * longest_s)), 1);
  uint64_t guess = found.longest;
  for (uint32_t i = 0; i < repeats; ++i) {
    const std::optional<uint64_t> burst = LongestBurst(guess, found.longest, max_pps, measure);
    if (!burst) break;
    found.bursts.push_back(*burst);
    guess = std::max<uint64_t>(*burst, 1);
  }
  return found;
}

}  // namespace sluice::engine::pktgen
