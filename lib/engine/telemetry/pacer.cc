// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/pacer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice::engine::telemetry {

namespace {

bool HasConverged(const FlowCounter& counter, uint64_t pkts, double probability) {
  const Sketch& sketch = counter.levels()[0].sketch;
  const Shape& shape = sketch.shape();
  const double effective_columns = shape.columns * probability;
  if (shape.kind == SketchKind::kCountMin) {
    const double epsilon = 4 / effective_columns;
    const double log_inverse_delta = shape.rows * std::log(2);
    return static_cast<double>(pkts) > 10 / (epsilon * epsilon) * std::sqrt(log_inverse_delta);
  }
  std::array<double, Setup::kMaxRows> squares;
  for (uint32_t row = 0; row < shape.rows; ++row) squares[row] = sketch.Squares(row);
  std::nth_element(squares.begin(), squares.begin() + shape.rows / 2, squares.begin() + shape.rows);
  const double epsilon_squared = 8 / effective_columns;
  const double needed = 121 * (1 + std::sqrt(epsilon_squared * probability)) /
                        std::pow(epsilon_squared * probability, 2);
  return squares[shape.rows / 2] / (kUnit * kUnit) + counter.exact().HeavySquares() > needed;
}

}  // namespace

bool HasConverged(const Epoch& epoch, double probability) {
  return std::all_of(epoch.counters.begin(), epoch.counters.end(), [&](const FlowCounter& counter) {
    return counter.exact().open() || HasConverged(counter, epoch.total.pkts, probability);
  });
}

Pacer::Pacer(const Setup& setup, uint64_t cycles_per_second, uint64_t now)
    : pace_(setup.pace),
      target_(setup.probability),
      full_rate_(setup.full_rate_pps),
      cycles_per_second_(cycles_per_second),
      probability_(pace_ == Pace::kFixed ? target_ : 1),
      window_start_(now) {}

double Pacer::BeginEpoch(uint64_t pkts) {
  earlier_pkts_ += pkts;
  next_look_ = kPktsPerLook;
  if (pace_ == Pace::kAlwaysCorrect) probability_ = 1;
  return probability_;
}

double Pacer::Adapt(uint64_t now, uint64_t pkts, const Epoch& epoch) {
  if (pace_ == Pace::kAlwaysLineRate) return AdaptToRate(now, earlier_pkts_ + pkts);
  if (pace_ == Pace::kAlwaysCorrect && probability_ == 1 && pkts >= next_look_) {
    next_look_ = pkts + kPktsPerLook;
    if (HasConverged(epoch, target_)) probability_ = target_;
  }
  return probability_;
}

double Pacer::AdaptToRate(uint64_t now, uint64_t all_pkts) {
  if (now < window_start_) {  // The clock stepped back, so the window's duration is unknown.
    window_start_ = now;
    window_pkts_ = all_pkts;
  }
  const uint64_t cycles = now - window_start_;
  if (cycles >= cycles_per_second_ / kPacesPerSecond && cycles != 0) {
    const double rate = static_cast<double>(all_pkts - window_pkts_) *
                        static_cast<double>(cycles_per_second_) / static_cast<double>(cycles);
    probability_ = LineRateProbability(rate, full_rate_);
    window_start_ = now;
    window_pkts_ = all_pkts;
  }
  return probability_;
}

double Pacer::LineRateProbability(double rate, double full_rate) {
  if (rate <= full_rate) return 1;
  return std::max(kLeastLineRate, std::exp2(-std::ceil(std::log2(rate / full_rate))));
}

}  // namespace sluice::engine::telemetry
