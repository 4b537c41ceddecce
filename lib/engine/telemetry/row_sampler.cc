// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/row_sampler.h"

namespace sluice::engine::telemetry {

void RowSampler::SetProbability(double probability) {
  gaps_.SetProbability(probability);
  row_ = rows_ - 1;  // The first gap begins behind the last row of the frame before.
  next_ = kSamples;
}

void RowSampler::Refill() {
  // Gaps are below 2^22 and rows at most 2^7: the quotient is exact.
  const uint64_t inverse = (uint64_t{1} << 32) / rows_ + 1;
  for (Sample& sample : samples_) {
    const uint32_t to = row_ + gaps_.Next();
    const auto frames = static_cast<uint32_t>(to * inverse >> 32);
    row_ = to - frames * rows_;
    sample = {frames, row_};
  }
  next_ = 0;
}

}  // namespace sluice::engine::telemetry
