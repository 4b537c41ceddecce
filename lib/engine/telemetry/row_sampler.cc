// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/row_sampler.h"

namespace sluice::engine::telemetry {

void RowSampler::SetProbability(double probability) {
  gaps_.SetProbability(probability);
  row_ = rows_ - 1;  // The first gap begins after the last row of the previous frame.
  next_ = kSamples;
}

void RowSampler::Refill() {
  // All distances are relative to the frame of the previous batch's last sample, so that the
  // divisions do not depend on each other.
  uint64_t rows = row_, frames = 0;
  // The quotient is exact for `rows` below 2^63 / rows_. `rows` is below 2^30, because a batch has
  // 2^7 gaps below 2^22; rows_ is at most 2^7.
  const uint64_t inverse = (uint64_t{1} << 63) / rows_ + 1;
  for (Sample& sample : samples_) {
    rows += gaps_.Next();
    const auto whole = static_cast<uint64_t>(static_cast<unsigned __int128>(rows) * inverse >> 63);
    sample = {static_cast<uint32_t>(whole - frames), static_cast<uint32_t>(rows - whole * rows_)};
    frames = whole;
  }
  row_ = samples_.back().row;
  next_ = 0;
}

}  // namespace sluice::engine::telemetry
