// SPDX-License-Identifier: BSD-3-Clause
#include "batch.h"

namespace sluice::logmon {

Batch::Batch(const Config& config) : alerts(config.about.size()) {
  for (size_t i = 0; i < config.about.size(); ++i) {
    // The tallies have no default values; the collector adds those.
    metrics.emplace_back(engine::logmon::TallyOptions{});
  }
}

}  // namespace sluice::logmon
