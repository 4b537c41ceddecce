// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/known_flows.h"

#include <algorithm>
#include <bit>

namespace sluice::engine::telemetry {

KnownFlows::KnownFlows(uint32_t capacity)
    : capacity_(capacity),
      index_(std::bit_ceil(size_t{capacity} * kSlotsPerFlow)),
      mask_(index_.size() - 1) {
  flows_.reserve(size_t{capacity} + 1);
  flows_.push_back({});
  heap_.reserve(capacity);
}

void KnownFlows::Insert(const Flow& flow) {
  if (!full()) {
    const auto place = static_cast<uint32_t>(flows_.size());
    flows_.push_back(flow);
    heap_.push_back({flow.count, place});
    AddToIndex(flow.hash, place);
    SiftUp(static_cast<uint32_t>(heap_.size() - 1));
    if (full()) floor_ = heap_[0].count;
    return;
  }
  complete_ = false;
  const uint32_t place = heap_[0].flow;
  RemoveFromIndex(place);
  flows_[place] = flow;
  AddToIndex(flow.hash, place);
  Sink({flow.count, place});
}

void KnownFlows::Clear() {
  complete_ = true;
  floor_ = kNoFloor;
  flows_.resize(1);
  heap_.clear();
  std::fill(index_.begin(), index_.end(), uint16_t{0});
}

uint64_t KnownFlows::bytes() const {
  return capacity_ * (sizeof(Flow) + sizeof(HeapNode)) + index_.size() * sizeof(uint16_t);
}

void KnownFlows::AddToIndex(uint64_t hash, uint32_t flow) {
  size_t at = Home(hash);
  while (index_[at] != 0) at = (at + 1) & mask_;
  index_[at] = static_cast<uint16_t>(flow);
}

void KnownFlows::RemoveFromIndex(uint32_t flow) {
  size_t hole = Home(flows_[flow].hash);
  while (index_[hole] != flow) hole = (hole + 1) & mask_;
  // Moves later entries into the hole unless their home position is after it (Knuth 6.4, algorithm
  // R).
  for (size_t at = (hole + 1) & mask_; index_[at] != 0; at = (at + 1) & mask_) {
    const size_t home = Home(flows_[index_[at]].hash);
    if (((at - home) & mask_) >= ((at - hole) & mask_)) {
      index_[hole] = index_[at];
      hole = at;
    }
  }
  index_[hole] = 0;
}

/// Updates the top of the heap to its flow's current count.
void KnownFlows::Refresh() { Sink({flows_[heap_[0].flow].count, heap_[0].flow}); }

/// Replaces the top with `node` and restores the heap order.
void KnownFlows::Sink(HeapNode node) {
  const auto size = static_cast<uint32_t>(heap_.size());
  uint32_t at = 0;
  for (uint32_t child; (child = 2 * at + 1) < size; at = child) {
    if (child + 1 < size && heap_[child + 1].count < heap_[child].count) ++child;
    if (heap_[child].count >= node.count) break;
    heap_[at] = heap_[child];
  }
  heap_[at] = node;
  floor_ = heap_[0].count;
}

void KnownFlows::SiftUp(uint32_t at) {
  const HeapNode node = heap_[at];
  for (; at != 0 && heap_[(at - 1) / 2].count > node.count; at = (at - 1) / 2) {
    heap_[at] = heap_[(at - 1) / 2];
  }
  heap_[at] = node;
}

}  // namespace sluice::engine::telemetry
