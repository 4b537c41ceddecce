// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pktgen/rfc2544.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace sluice::engine::pktgen {
namespace {

constexpr uint32_t kStepPercent = 10;
constexpr uint64_t kBurstPrecision = 200;  // Result precision: one part in 200.
constexpr int kMostTries = 10;             // Maximum number of tries until a trial is valid.
// Maximum time from the end of a trial until its last frame leaves, as a share of the trial's
// duration; at least kPollS, the duration of a poll. A trial that exceeds this time did not have
// the offered rate.
constexpr double kMostStretched = 0.1;
constexpr double kPollS = 1e-3;

// Repeats a trial until it is valid, at most kMostTries times. `tolerated` is the share of frames
// that may be unsent in a valid trial.
std::optional<Outcome> Try(const Offer& offer, double tolerated, Measure measure,
                           Refusal* refusal) {
  for (int i = 0; i < kMostTries; ++i) {
    const std::optional<Outcome> outcome = measure(offer);
    *refusal = Refusal::kStopped;
    if (!outcome) return std::nullopt;
    const bool stretched = outcome->overrun_s > std::max(kMostStretched * offer.duration_s, kPollS);
    if (outcome->disturbed) {
      *refusal = Refusal::kHost;
    } else if (outcome->Short(tolerated) || stretched) {
      *refusal = Refusal::kGenerator;
    } else {
      *refusal = Refusal::kNone;
      return outcome;
    }
  }
  return std::nullopt;
}

// Finds the longest burst that passes: moves away from `guess` in growing steps, then bisects.
std::optional<uint64_t> LongestBurst(uint64_t guess, uint64_t longest, double max_pps,
                                     Measure measure, Refusal* refusal) {
  // The longest burst that passed and the shortest burst that failed; the initial values are not
  // offered.
  uint64_t low = 0, high = longest + 1;
  const auto offer = [&](uint64_t frames) {
    const auto outcome = Try({max_pps, static_cast<double>(frames) / max_pps}, 0, measure, refusal);
    if (outcome) (outcome->lost == 0 ? low : high) = frames;
    return outcome.has_value();
  };
  for (uint64_t next = guess, step = std::max<uint64_t>(guess / 16, 1); high - low > 1; step *= 2) {
    if (!offer(next)) return std::nullopt;
    if (low != 0 && high <= longest) break;
    if (low == longest) return longest;
    next = low == next ? std::min(next + step, longest) : next - std::min(step, next - 1);
    if (next == high) return 0;  // Even in a burst of one frame, the frame was lost.
  }
  while (high - low > std::max<uint64_t>(low / kBurstPrecision, 1)) {
    if (!offer(low + (high - low) / 2)) return std::nullopt;
  }
  return low;
}

LossAtRate LossAt(uint32_t percent, const Offer& offer, uint32_t repeats, Measure measure) {
  LossAtRate rate;
  rate.percent = percent;
  const auto record = [&](const Offer& trial) {
    const std::optional<Outcome> outcome = measure(trial);
    if (outcome) rate.trials.push_back(*outcome);
    return outcome;
  };
  while (rate.losses.size() < repeats) {
    const auto outcome = Try(offer, kToleratedUnsent, record, &rate.refusal);
    if (!outcome) break;
    const auto sent = static_cast<double>(outcome->offered - outcome->unsent);
    rate.losses.push_back(100 * static_cast<double>(outcome->lost) / sent);
    rate.counted.offered += outcome->offered;
    rate.counted.unsent += outcome->unsent;
    rate.counted.lost += outcome->lost;
  }
  rate.counted.disturbed = rate.refusal == Refusal::kHost;
  return rate;
}

}  // namespace

Spread SpreadOf(std::span<const double> values) {
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  const double average = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - average) * (value - average);
  const auto [minimum, maximum] = std::ranges::minmax(values);
  return {average, minimum, maximum, count > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

std::vector<LossAtRate> FrameLossRate(double max_pps, double trial_s, uint32_t repeats,
                                      Measure measure) {
  std::vector<LossAtRate> rates;
  uint32_t clean = 0;
  for (uint32_t percent = 100; percent >= kStepPercent && clean < 2; percent -= kStepPercent) {
    LossAtRate rate = LossAt(percent, {max_pps * percent / 100, trial_s}, repeats, measure);
    if (rate.refusal == Refusal::kStopped) {
      if (!rate.trials.empty()) rates.push_back(std::move(rate));
      break;
    }
    const bool lost_none = rate.refusal == Refusal::kNone &&
                           std::ranges::all_of(rate.losses, [](double loss) { return loss == 0; });
    clean = lost_none ? clean + 1 : 0;
    rates.push_back(std::move(rate));
  }
  return rates;
}

BackToBack LongestBursts(double max_pps, double longest_s, uint32_t repeats, Measure measure) {
  BackToBack found;
  found.longest = std::max<uint64_t>(static_cast<uint64_t>(std::llround(max_pps * longest_s)), 1);
  uint64_t guess = found.longest;
  for (uint32_t i = 0; i < repeats; ++i) {
    const std::optional<uint64_t> burst =
        LongestBurst(guess, found.longest, max_pps, measure, &found.refusal);
    if (!burst) break;
    found.bursts.push_back(*burst);
    guess = std::max<uint64_t>(*burst, 1);
  }
  return found;
}

}  // namespace sluice::engine::pktgen
