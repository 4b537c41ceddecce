// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pktgen/departures.h"

#include <algorithm>
#include <random>

namespace sluice::engine::pktgen {

namespace {

/// A random number generator in the form that the distributions of the standard library require.
struct Bits {
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }
  uint64_t operator()() { return random.Next(); }

  workload::Random& random;
};

}  // namespace

uint64_t Departures::Skip(uint64_t before_ps, uint32_t length, uint64_t most) {
  uint64_t skipped = 0;
  while (due_ps_ < before_ps && skipped < most) {
    skipped += std::min(SkipInPart(before_ps, length), most - skipped);
    Arrive();
  }
  return skipped;
}

uint64_t Departures::SkipInPart(uint64_t before_ps, uint32_t length) {
  const Ticks until = std::min(TicksOf(before_ps), end_);
  if (unlimited_) {
    at_ = until;
    return 0;
  }
  const Ticks gap = gap_.Behind(length);
  if (mode_ == Mode::kConstant) {
    const Ticks frames = (until - at_ + gap - 1) / gap;
    at_ += frames * gap;
    return static_cast<uint64_t>(frames);
  }
  if (mode_ == Mode::kPoisson) {
    // One frame is due now. Arrivals are memoryless, so the number of further arrivals and the wait
    // from `until` to the next one are independent of that frame.
    const double mean = static_cast<double>(until - at_) / static_cast<double>(gap);
    Bits bits{random_};
    at_ = until + Scale(gap, -std::log(1 - random_.Unit()));
    return 1 + std::poisson_distribution<uint64_t>(mean)(bits);
  }
  const std::vector<uint64_t>& at_ps = offsets_->at_ps;
  const uint64_t until_ps = PsOf(until);
  const uint64_t rounds = (until_ps - round_ps_) / offsets_->period_ps;
  const uint64_t round_ps = round_ps_ + rounds * offsets_->period_ps;
  const auto frame =
      static_cast<size_t>(std::ranges::lower_bound(at_ps, until_ps - round_ps) - at_ps.begin());
  const uint64_t frames = rounds * at_ps.size() + frame - frame_;
  round_ps_ = round_ps + (frame == at_ps.size() ? offsets_->period_ps : 0);
  frame_ = frame == at_ps.size() ? 0 : frame;
  at_ = TicksOf(round_ps_ + at_ps[frame_]);
  return frames;
}

}  // namespace sluice::engine::pktgen
