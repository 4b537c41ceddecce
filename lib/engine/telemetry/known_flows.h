// SPDX-License-Identifier: BSD-3-Clause
//
// The flows of a sketch that are known by name: the largest ones seen so far, in a heap with the
// least on top, and an index, so that none is in it twice. A flow is told by its hash: 64
// well-mixed bits, of which a secret is part where strangers send. Counting for a known flow does
// not touch the heap, which is put right when the least is asked for: counts only grow.
#pragma once

#include <cstdint>
#include <limits>
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

  /// At most kMaxCapacity flows.
  explicit KnownFlows(uint32_t capacity);
  static constexpr uint32_t kMaxCapacity = 0xffff;

  /// The flow of this hash, or nullptr.
  Flow* Find(uint64_t hash) {
    for (size_t at = Home(hash);; at = (at + 1) & mask_) {
      if (index_[at] == 0) return nullptr;
      if (flows_[index_[at]].hash == hash) return &flows_[index_[at]];
    }
  }
  const Flow* Find(uint64_t hash) const { return const_cast<KnownFlows*>(this)->Find(hash); }
  /// As Find and Add together; false: not known. Whether a flow is known is a toss-up: no branch
  /// depends on it, unless flows meet in the index.
  bool AddIfKnown(uint64_t hash, int64_t count, int64_t bytes) {
    const uint32_t slot = index_[Home(hash)];
    Flow& flow = flows_[slot];  // Of a free slot: nobody.
    const bool known = flow.hash == hash;
    if (!known & (slot != 0)) [[unlikely]] {
      Flow* const elsewhere = Find(hash);
      if (elsewhere != nullptr) Add(*elsewhere, count, bytes, 1);
      return elsewhere != nullptr;
    }
    const int64_t all = -int64_t{known};
    Add(flow, count & all, bytes & all, known);
    return known;
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
  void TurnAwayUnless(bool known) { complete_ &= known; }

  uint32_t capacity() const { return capacity_; }
  bool full() const { return heap_.size() == capacity_; }
  /// No flow of a count that is not above this is taken up: at most Least(), and below all counts
  /// while there is room.
  int64_t floor() const { return floor_; }
  /// The least count. Not of none.
  int64_t Least() {
    while (heap_[0].count != flows_[heap_[0].flow].count) [[unlikely]] Refresh();
    return heap_[0].count;
  }
  /// No flow was ever turned away or had to go: these are all.
  bool complete() const { return complete_; }
  /// In no order.
  std::span<const Flow> flows() const { return std::span(flows_).subspan(1); }

  void Clear();
  uint64_t bytes() const;

 private:
  struct HeapNode {
    int64_t count;  ///< That the flow had when the node was put here: at most what it has.
    uint32_t flow;
  };
  /// Slots per flow: an unknown flow seldom meets another one.
  static constexpr size_t kSlotsPerFlow = 8;

  /// Far below all counts, and still something can be subtracted from it.
  static constexpr int64_t kNoFloor = std::numeric_limits<int64_t>::min() / 2;

  size_t Home(uint64_t hash) const { return hash & mask_; }
  void AddToIndex(uint64_t hash, uint32_t flow);
  void RemoveFromIndex(uint32_t flow);
  void Refresh();
  void Sink(HeapNode node);
  void SiftUp(uint32_t at);

  uint32_t capacity_;
  bool complete_ = true;
  int64_t floor_ = kNoFloor;
  std::vector<Flow> flows_;  ///< The first is nobody.
  std::vector<HeapNode> heap_;
  std::vector<uint16_t> index_;  ///< Linear probing; 0: free.
  uint64_t mask_;                ///< Of index_, whose size is a power of two.
};

}  // namespace sluice::engine::telemetry
