// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/gap_sampler.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace sluice::engine::telemetry {

namespace {

constexpr uint64_t kFractionBits = 52;
constexpr uint64_t kFraction = (uint64_t{1} << kFractionBits) - 1;
constexpr uint64_t kOne = std::bit_cast<uint64_t>(1.0);

/// Computes log2 of a normal number without branches and without conversions that vector units
/// lack. With x = 2^e·m and m in [√½, √2), log2 m = 2/ln 2 · artanh((m - 1)/(m + 1)). The series is
/// truncated after the thirteenth power, so the relative error is below 2^-39. The boundaries
/// between gaps have the same relative error.
inline double Log2(double x) {
  // Exponent of x/√½, as the mantissa of 2^52 + e.
  constexpr uint64_t kHalfRoot = std::bit_cast<uint64_t>(std::numbers::sqrt2 / 2);
  constexpr double kTwoTo52 = 0x1p52;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t exponent = (bits - kHalfRoot + kOne) >> kFractionBits;  // e + 1023
  const double e =
      std::bit_cast<double>(exponent | std::bit_cast<uint64_t>(kTwoTo52)) - (kTwoTo52 + 1023);
  const double m = std::bit_cast<double>(bits - ((exponent << kFractionBits) - kOne));
  const double t = (m - 1) / (m + 1);
  const double s = t * t;
  double sum = 1.0 / 13;
  sum = sum * s + 1.0 / 11;
  sum = sum * s + 1.0 / 9;
  sum = sum * s + 1.0 / 7;
  sum = sum * s + 1.0 / 5;
  sum = sum * s + 1.0 / 3;
  sum = sum * s + 1;
  return e + 2 * std::numbers::log2e * t * sum;
}

}  // namespace

void GapSampler::SetProbability(double probability) {
  weight_ = std::llround(static_cast<double>(kUnit) / probability);
  probability_ = static_cast<double>(kUnit) / static_cast<double>(weight_);
  scale_ = weight_ == kUnit ? 0 : std::numbers::ln2 / std::log1p(-probability_);
  next_ = kGaps;
}

void GapSampler::Refill() {
  for (uint32_t& gap : gaps_) {
    // The value is in (0, 1], so that the logarithm is finite; the largest gap is 2.4 million.
    const double unit = 2 - std::bit_cast<double>((random_.Next() & kFraction) | kOne);
    gap = 1 + static_cast<uint32_t>(static_cast<int32_t>(Log2(unit) * scale_));
  }
  next_ = 0;
}

}  // namespace sluice::engine::telemetry
