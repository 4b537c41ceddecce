// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "device/grid/card.h"

namespace sluice::emulator {

/// Returns the quantile `share` of the latency in ns, rounded down to a bucket of the histogram; 0
/// if no frame was measured. `share` is below 1.
inline uint64_t Quantile(const device::grid::Counters& counters, double share) {
  uint64_t all = 0;
  for (const uint64_t count : counters.latency) all += count;
  const auto wanted = static_cast<uint64_t>(static_cast<double>(all) * share);
  uint64_t seen = 0;
  for (uint32_t bucket = 0; bucket < device::grid::kLatencyBuckets; ++bucket) {
    seen += counters.latency[bucket];
    if (seen > wanted) return device::grid::LatencyOf(bucket);
  }
  return 0;
}

}  // namespace sluice::emulator
