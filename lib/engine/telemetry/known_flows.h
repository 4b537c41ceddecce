// SPDX-License-Identifier: BSD-3-Clause
//
// The flows of a sketch that are known by name: the largest ones seen so far, in a heap with the
// least on top, and an index by key, so that none is in it twice. Counting for a known flow does
// not touch the heap, which is put right when the least is asked for: counts only grow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

class KnownFlows {
 public:
  struct Flow {
    packet::FlowKey key;
    uint64_t hash = 0;
    /// Σ over sampled rows of their weights (kUnit and up): rows · kUnit per packet, on average.
    /// What came before the flow was known is in it as it was estimated.
    int64_t count = 0;
    int64_t bytes = 0;     ///< The same, of bytes.
    uint32_t samples = 0;  ///< Sampled rows since it is known.
    uint32_t whole = 0;    ///< 1: known from its first sample on, so that nothing is estimated.
  };

  explicit KnownFlows(uint32_t capacity);

  /// The flow of this key, or nullptr. `hash` is the key's.
  Flow* Find(const packet::FlowKey& key, uint64_t hash) {
    const auto tag = static_cast<uint32_t>(hash >> 32);
    for (size_t at = Home(hash);; at = (at + 1) & (index_.size() - 1)) {
      const IndexSlot& slot = index_[at];
      if (slot.flow == 0) return nullptr;
      if (slot.tag == tag && flows_[slot.flow - 1].key == key) return &flows_[slot.flow - 1];
    }
  }
  const Flow* Find(const packet::FlowKey& key, uint64_t hash) const {
    return const_cast<KnownFlows*>(this)->Find(key, hash);
  }
  /// Adds to the count of a flow that Find returned.
  static void Add(Flow& flow, int64_t count, int64_t bytes, uint32_t samples) {
    flow.count += count;
    flow.bytes += bytes;
    flow.samples += samples;
  }
  /// Takes up a flow that is not known. If they are full, its count is above Least(), which was
  /// asked since the last Add: the least has to go.
  void Insert(const Flow& flow);
  /// A flow was not taken up: from now on, unknown flows may have been seen before.
  void TurnAway() { complete_ = false; }

  bool full() const { return flows_.size() == capacity_; }
  /// The least count. Not of none.
  int64_t Least() {
    while (heap_[0].count != flows_[heap_[0].flow].count) [[unlikely]] Refresh();
    return heap_[0].count;
  }
  /// No flow was ever turned away or had to go: these are all.
  bool complete() const { return complete_; }
  /// In no order.
  std::span<const Flow> flows() const { return flows_; }

  void Clear();
  uint64_t bytes() const;

 private:
  struct HeapNode {
    int64_t count;  ///< That the flow had when the node was put here: at most what it has.
    uint32_t flow;
  };
  /// Linear probing. `tag` are bits of the hash, `flow` one more than the place; 0: free.
  struct IndexSlot {
    uint32_t tag = 0;
    uint32_t flow = 0;
  };

  size_t Home(uint64_t hash) const { return hash & (index_.size() - 1); }
  void AddToIndex(uint64_t hash, uint32_t flow);
  void RemoveFromIndex(uint32_t flow);
  void Refresh();
  void Sink(HeapNode node);
  void SiftUp(uint32_t at);

  uint32_t capacity_;
  bool complete_ = true;
  std::vector<Flow> flows_;
  std::vector<HeapNode> heap_;
  std::vector<IndexSlot> index_;
};

}  // namespace sluice::engine::telemetry
