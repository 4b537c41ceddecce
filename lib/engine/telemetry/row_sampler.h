// SPDX-License-Identifier: BSD-3-Clause
//
// Chooses which rows to update for which frames. Gaps are drawn over the sequence of all rows of
// all frames and converted to frame and row numbers. Samples are computed in batches, so that a
// frame does not wait for a logarithm or a division.
#pragma once

#include <array>
#include <cstdint>

#include "engine/telemetry/gap_sampler.h"

namespace sluice::engine::telemetry {

class RowSampler {
 public:
  struct Sample {
    uint32_t frames;  ///< Distance from the previous sample in frames; 0 means the same frame.
    uint32_t row;
  };

  /// `rows` is the number of rows per frame, 1 … 128.
  RowSampler(uint32_t rows, uint64_t seed) : rows_(rows), gaps_(seed) {}

  /// Like GapSampler::SetProbability. The first sample's `frames` is 1 if the sample belongs to the
  /// next frame. Samples are not drawn until Next is called.
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
  uint32_t row_ = 0;  ///< Row of the last sample drawn.
  uint32_t next_ = kSamples;
  std::array<Sample, kSamples> samples_;
  GapSampler gaps_;
};

}  // namespace sluice::engine::telemetry
