// SPDX-License-Identifier: BSD-3-Clause
//
// How far it is to the next sample: geometric gaps (NitroSketch, SIGCOMM'19, section 4.2), drawn
// many at a time, since logarithms of many cost little: vectors of them are computed at once.
#pragma once

#include <array>
#include <cstdint>

#include "engine/telemetry/unit.h"
#include "engine/workload/random.h"

namespace sluice::engine::telemetry {

class GapSampler {
 public:
  explicit GapSampler(uint64_t seed) : random_(seed) {}

  /// `probability` in [2^-16, 1]. What was drawn for the one before is forgotten.
  void SetProbability(double probability);

  /// What one sample counts for: kUnit / probability(), an integer.
  int64_t weight() const { return weight_; }
  /// The one that was set, moved so that its inverse is a multiple of 1/kUnit: no rounding
  /// makes estimates too large or too small.
  double probability() const { return probability_; }

  /// 1, 2, …: g with the probability p·(1-p)^(g-1).
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
