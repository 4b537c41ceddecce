// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/oracle.h"

namespace sluice::engine::telemetry {

Oracle::Oracle(uint32_t one_in, uint32_t capacity, uint64_t seed)
    : one_in_(one_in), capacity_(capacity), seed_(seed) {
  if (enabled()) counts_.reserve(capacity_);
}

void Oracle::Count(const packet::FlowKey& key, uint32_t bytes) {
  const auto known = counts_.find(key);
  if (known != counts_.end()) {
    known->second += {1, bytes};
  } else if (counts_.size() < capacity_) {
    counts_.emplace(key, Traffic{1, bytes});
  } else {
    ++refused_pkts_;
  }
}

void Oracle::Clear() {
  refused_pkts_ = 0;
  counts_.clear();
  if (enabled()) counts_.reserve(capacity_);  // Clearing a large map frees its memory.
}

void Oracle::Merge(const Oracle& other) {
  const bool complete = refused_pkts_ == 0;
  if (other.refused_pkts_ != 0) {
    absl::erase_if(counts_, [&](const auto& flow) { return !other.counts_.contains(flow.first); });
  }
  for (const auto& [key, traffic] : other.counts_) {
    const auto known = counts_.find(key);
    if (known != counts_.end()) {
      known->second += traffic;
    } else if (complete) {
      counts_.emplace(key, traffic);
    }
  }
  refused_pkts_ += other.refused_pkts_;
}

uint64_t Oracle::bytes() const {
  // Each slot also has a byte of metadata.
  return counts_.capacity() * (sizeof(Counts::value_type) + 1);
}

}  // namespace sluice::engine::telemetry
