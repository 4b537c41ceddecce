// SPDX-License-Identifier: BSD-3-Clause
//
// Draws the distances between samples as geometric gaps (NitroSketch, SIGCOMM'19, section 4.2).
// Gaps are drawn in batches, so that their logarithms are computed with vector instructions.
#pragma once

#include <array>
#include <cstdint>

#include "engine/telemetry/unit.h"
#include "engine/workload/random.h"

namespace sluice::engine::telemetry {

class GapSampler {
 public:
  explicit GapSampler(uint64_t seed) : random_(seed) {}

  /// Sets the probability, which must be in [2^-16, 1]. Discards gaps that were drawn for the
  /// previous probability.
  void SetProbability(double probability);

  /// Returns the weight of one sample: kUnit / probability(), an integer.
  int64_t weight() const { return weight_; }
  /// Returns the probability in use: the requested one, rounded to the nearest value whose inverse
  /// is a multiple of 1/kUnit. Weights are then exact, and rounding does not bias estimates.
  double probability() const { return probability_; }

  /// Returns a gap g of 1, 2, … with probability p·(1-p)^(g-1).
  uint32_t Next() {
    if (next_ == kGaps) Refill();
    return gaps_[next_++];
  }

 private:
  static constexpr uint32_t kGaps = 128;

  void Refill();

  workload::Random random_;
  int64_t weight_ = kUnit;
  double probability_ = 1;
  double scale_ = 0;  ///< 1 / log2(1 - p); 0 for p = 1.
  uint32_t next_ = kGaps;
  std::array<uint32_t, kGaps> gaps_;
};

}  // namespace sluice::engine::telemetry
