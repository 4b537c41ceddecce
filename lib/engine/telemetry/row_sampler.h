// SPDX-License-Identifier: BSD-3-Clause
//
// Which rows of which frames are sampled: gaps over all rows of all frames, one after the other,
// told as frames and rows. Known ahead, so that a frame waits neither for a logarithm nor for a
// division.
#pragma once

#include <array>
#include <cstdint>

#include "engine/telemetry/gap_sampler.h"

namespace sluice::engine::telemetry {

class RowSampler {
 public:
  struct Sample {
    uint32_t frames;  ///< From the frame of the sample before to its own; 0: the same frame.
    uint32_t row;
  };

  /// `rows` of each frame, 1 … 128.
  RowSampler(uint32_t rows, uint64_t seed) : rows_(rows), gaps_(seed) {}

  /// As of GapSampler. The first sample's frames are counted from the frame before the next one.
  /// Nothing is drawn while the probability is 1.
  void SetProbability(double probability);
  int64_t weight() const { return gaps_.weight(); }
  double probability() const { return gaps_.probability(); }

  Sample Next() {
    if (next_ == kSamples) [[unlikely]]
      Refill();
    return samples_[next_++];
  }

 private:
  static constexpr uint32_t kSamples = 128;

  void Refill();

  const uint32_t rows_;
  uint32_t row_ = 0;  ///< Of the last sample drawn.
  uint32_t next_ = kSamples;
  std::array<Sample, kSamples> samples_;
  GapSampler gaps_;
};

}  // namespace sluice::engine::telemetry
