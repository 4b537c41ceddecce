// SPDX-License-Identifier: BSD-3-Clause
//
// Estimates the access rates of a region's pages from access bits. If a page is accessed at random
// times at a rate r, a scan that covers the time T finds its bit set with the probability 1 -
// exp(-rT). Each bit moves log r along the gradient of its likelihood, so that scans of any period
// contribute to one estimate. A bit that was almost certain to be set (rT large) contains no
// information and has no effect. Therefore the rates of very hot pages, which only fast scans can
// determine, persist during slow scans. If the number of set bits deviates significantly, the
// region's contents have changed, and the old estimates get little weight.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "simulation/tiering/abi.h"

namespace sluice::simulation::tiering {

class AccessRates {
 public:
  /// Returns the rate of page `i` of the region in accesses per tick, or 0 if unknown.
  double rate(uint32_t i) const { return rate_[i]; }

  /// Processes a valid scan. record.ticks must be > 0.
  void Learn(const ScanRecord& record) {
    const auto ticks = static_cast<float>(record.ticks);
    const bool another = IsAnother(record);
    const float step = another ? kLongStep : kStep;
    for (uint64_t left = record.mapped; left != 0; left &= left - 1) {
      const uint32_t i = static_cast<uint32_t>(std::countr_zero(left));
      const bool accessed = (record.accessed >> i & 1) != 0;
      float& rate = rate_[i];
      if (rate == 0 || (record.fresh >> i & 1) != 0) {
        rate = (accessed ? 1.0f : 0.2f) / ticks;
        continue;
      }
      const float x = rate * ticks;
      const float gradient = accessed ? (x < 1e-3f ? 1.0f : x / std::expm1(x)) : -x;
      rate *= std::exp(step * std::max(gradient, -kSteepest));
      if (another && accessed) rate = std::max(rate, 1.0f / ticks);
      rate = std::clamp(rate, kLeast, kMost);
    }
    for (uint64_t gone = ~record.mapped; gone != 0; gone &= gone - 1) {
      rate_[std::countr_zero(gone)] = 0;
    }
  }

 private:
  /// Returns whether the number of accessed pages deviates from the number that the rates predict
  /// by more than 4 standard deviations.
  bool IsAnother(const ScanRecord& record) const {
    float mean = 0, variance = 0;
    for (uint64_t left = record.mapped & ~record.fresh; left != 0; left &= left - 1) {
      const float rate = rate_[std::countr_zero(left)];
      const float chance = -std::expm1(-rate * static_cast<float>(record.ticks));
      mean += chance;
      variance += chance * (1 - chance);
    }
    const auto found = static_cast<float>(std::popcount(record.accessed & ~record.fresh));
    const float apart = found - mean;
    return apart * apart > 16 * std::max(variance, 1.0f);
  }

  static constexpr float kStep = 0.2f;
  static constexpr float kLongStep = 1.0f;
  static constexpr float kSteepest = 2.0f;
  static constexpr float kLeast = 1e-5f;
  static constexpr float kMost = 1e4f;

  std::array<float, kRegionPages> rate_{};
};

}  // namespace sluice::simulation::tiering
