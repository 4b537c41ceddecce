// SPDX-License-Identifier: BSD-3-Clause
#include "batch.h"

namespace sluice::logmon {

Batch::Batch(const Config& config) : alerts(config.about.size()) {
  for (size_t i = 0; i < config.about.size(); ++i) {
    // Without defaults, which the collector adds.
    metrics.emplace_back(engine::logmon::TallyOptions{});
  }
}

}  // namespace sluice::logmon
