// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/gap_sampler.h"

#include <cmath>

namespace sluice::engine::telemetry {

void GapSampler::SetProbability(double probability) {
  weight_ = std::llround(static_cast<double>(kUnit) / probability);
  probability_ = static_cast<double>(kUnit) / static_cast<double>(weight_);
  scale_ = weight_ == kUnit ? 0 : 1 / std::log1p(-probability_);
  next_ = kGaps;
}

void GapSampler::Refill() {
  for (uint64_t& gap : gaps_) {
    // In (0, 1]: the logarithm is finite, and 2.4 million the largest gap there can be.
    const double unit = 1 - random_.Unit();
    gap = 1 + static_cast<uint64_t>(std::log(unit) * scale_);
  }
  next_ = 0;
}

}  // namespace sluice::engine::telemetry
