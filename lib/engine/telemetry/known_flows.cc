// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/known_flows.h"

#include <algorithm>
#include <bit>

namespace sluice::engine::telemetry {

KnownFlows::KnownFlows(uint32_t capacity)
    : capacity_(capacity), index_(std::bit_ceil(size_t{capacity} * 4)) {
  flows_.reserve(capacity);
  places_.reserve(capacity);
  heap_.reserve(capacity);
}

KnownFlows::Flow* KnownFlows::Find(const packet::FlowKey& key, uint64_t hash) {
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t at = Home(hash);; at = (at + 1) & (index_.size() - 1)) {
    const IndexSlot& slot = index_[at];
    if (slot.flow == 0) return nullptr;
    if (slot.tag == tag && flows_[slot.flow - 1].key == key) return &flows_[slot.flow - 1];
  }
}

void KnownFlows::Add(Flow& flow, int64_t count, int64_t bytes, uint32_t samples) {
  flow.count += count;
  flow.bytes += bytes;
  flow.samples += samples;
  const uint32_t at = places_[static_cast<size_t>(&flow - flows_.data())];
  heap_[at].count = flow.count;
  SiftDown(at);
}

void KnownFlows::Insert(const Flow& flow) {
  if (!full()) {
    const auto place = static_cast<uint32_t>(flows_.size());
    flows_.push_back(flow);
    places_.push_back(place);
    heap_.push_back({flow.count, place});
    AddToIndex(flow.hash, place);
    SiftUp(place);
    return;
  }
  complete_ = false;
  const uint32_t place = heap_[0].flow;
  RemoveFromIndex(place);
  flows_[place] = flow;
  AddToIndex(flow.hash, place);
  heap_[0].count = flow.count;
  SiftDown(0);
}

void KnownFlows::Clear() {
  complete_ = true;
  flows_.clear();
  places_.clear();
  heap_.clear();
  std::fill(index_.begin(), index_.end(), IndexSlot{});
}

uint64_t KnownFlows::bytes() const {
  return capacity_ * (sizeof(Flow) + sizeof(uint32_t) + sizeof(HeapNode)) +
         index_.size() * sizeof(IndexSlot);
}

void KnownFlows::AddToIndex(uint64_t hash, uint32_t flow) {
  size_t at = Home(hash);
  while (index_[at].flow != 0) at = (at + 1) & (index_.size() - 1);
  index_[at] = {static_cast<uint32_t>(hash >> 32), flow + 1};
}

void KnownFlows::RemoveFromIndex(uint32_t flow) {
  const size_t mask = index_.size() - 1;
  size_t hole = Home(flows_[flow].hash);
  while (index_[hole].flow != flow + 1) hole = (hole + 1) & mask;
  // What follows moves up unless its home lies behind the hole (Knuth 6.4, algorithm R).
  for (size_t at = (hole + 1) & mask; index_[at].flow != 0; at = (at + 1) & mask) {
    const size_t home = Home(flows_[index_[at].flow - 1].hash);
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      index_[hole] = index_[at];
      hole = at;
    }
  }
  index_[hole] = {};
}

void KnownFlows::Settle(uint32_t at, HeapNode node) {
  heap_[at] = node;
  places_[node.flow] = at;
}

void KnownFlows::SiftDown(uint32_t at) {
  const HeapNode node = heap_[at];
  const auto size = static_cast<uint32_t>(heap_.size());
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && heap_[child + 1].count < heap_[child].count) ++child;
    if (heap_[child].count >= node.count) break;
    Settle(at, heap_[child]);
    at = child;
  }
  Settle(at, node);
}

void KnownFlows::SiftUp(uint32_t at) {
  const HeapNode node = heap_[at];
  while (at != 0 && heap_[(at - 1) / 2].count > node.count) {
    Settle(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  Settle(at, node);
}

}  // namespace sluice::engine::telemetry
