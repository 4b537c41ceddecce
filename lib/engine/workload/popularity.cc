// SPDX-License-Identifier: BSD-3-Clause
#include "engine/workload/popularity.h"

#include <algorithm>
#include <cmath>

namespace sluice::engine::workload {

namespace {

// Return (e^x - 1) / x and log(1 + x) / x, even for x = 0, so that exponent 1 needs no special
// case.
double ExpRatio(double x) {
  return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x / 2 * (1 + x / 3);
}
double LogRatio(double x) { return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x * (0.5 - x / 3); }

}  // namespace

Popularity::Popularity(uint64_t items, double exponent) : items_(items), exponent_(exponent) {
  if (exponent == 0) return;
  first_ = Integral(1.5) - 1;
  last_ = Integral(static_cast<double>(items) + 0.5);
  squeeze_ = 2 - InverseIntegral(Integral(2.5) - Density(2));
}

double Popularity::Density(double x) const { return std::exp(-exponent_ * std::log(x)); }

double Popularity::Integral(double x) const {
  const double log = std::log(x);
  return ExpRatio((1 - exponent_) * log) * log;
}

double Popularity::InverseIntegral(double y) const {
  // Rounding may yield a value below -1, which has no logarithm.
  return std::exp(LogRatio(std::max(y * (1 - exponent_), -1.0)) * y);
}

uint64_t Popularity::DrawZipf(Random& random) const {
  for (;;) {
    const double y = last_ + random.Unit() * (first_ - last_);
    const double x = InverseIntegral(y);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, static_cast<double>(items_));
    if (rank - x <= squeeze_ || y >= Integral(rank + 0.5) - Density(rank)) {
      return static_cast<uint64_t>(rank) - 1;
    }
  }
}

}  // namespace sluice::engine::workload
