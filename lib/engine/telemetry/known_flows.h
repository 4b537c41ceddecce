// SPDX-License-Identifier: BSD-3-Clause
//
// The known flows of one sketch: the largest flows seen so far, with their keys, in a min-heap with
// an index by hash. A flow is identified by its hash of 64 well-mixed bits; the hash must include a
// secret if traffic is untrusted. Counting a packet of a known flow does not update the heap. Since
// counts only grow, the heap is corrected when the smallest count is requested.
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
    /// Sum of the weights (at least kUnit) of sampled rows: rows · kUnit per packet on average.
    /// Includes an estimate for the packets before the flow became known.
    int64_t count = 0;
    int64_t bytes = 0;     ///< Like `count`, weighted by bytes.
    uint32_t samples = 0;  ///< Sampled rows since the flow became known.
    uint32_t whole = 0;    ///< 1 if the flow was known from its first sample on, so that no part of
                           ///< `count` is estimated; else 0.
  };

  /// Creates a container for `capacity` flows, at most kMaxCapacity.
  explicit KnownFlows(uint32_t capacity);
  static constexpr uint32_t kMaxCapacity = 0xffff;

  /// Returns the flow with this hash, or nullptr.
  Flow* Find(uint64_t hash) {
    for (size_t at = Home(hash);; at = (at + 1) & mask_) {
      if (index_[at] == 0) return nullptr;
      if (flows_[index_[at]].hash == hash) return &flows_[index_[at]];
    }
  }
  const Flow* Find(uint64_t hash) const { return const_cast<KnownFlows*>(this)->Find(hash); }
  /// Combines Find and Add. Returns false if the flow is not known. The result is unpredictable, so
  /// no branch depends on it unless flows collide in the index.
  bool AddIfKnown(uint64_t hash, int64_t count, int64_t bytes) {
    const uint32_t slot = index_[Home(hash)];
    Flow& flow = flows_[slot];  // A free slot maps to the unused flow 0.
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
  /// Adds to the counts of a flow that Find returned.
  static void Add(Flow& flow, int64_t count, int64_t bytes, uint32_t samples) {
    flow.count += count;
    flow.bytes += bytes;
    flow.samples += samples;
  }
  /// Inserts a flow that is not known. If the container is full, the flow replaces the smallest
  /// one; the new flow's count must then be above Least(), which must have been called since the
  /// last Add.
  void Insert(const Flow& flow);
  /// Records that a flow was rejected. From now on, complete() is false, because a flow that is not
  /// known may have been seen before.
  void TurnAway() { complete_ = false; }
  void TurnAwayUnless(bool known) { complete_ &= known; }

  uint32_t capacity() const { return capacity_; }
  bool full() const { return heap_.size() == capacity_; }
  /// Returns a lower bound of Least(): an unknown flow is inserted only if its count is above the
  /// floor. While the container is not full, the floor is less than every count.
  int64_t floor() const { return floor_; }
  /// Returns the smallest count. There must be at least one flow.
  int64_t Least() {
    while (heap_[0].count != flows_[heap_[0].flow].count) [[unlikely]] Refresh();
    return heap_[0].count;
  }
  /// Returns whether no flow was rejected or replaced, so that flows() contains every counted flow.
  bool complete() const { return complete_; }
  /// Returns all flows, unordered.
  std::span<const Flow> flows() const { return std::span(flows_).subspan(1); }

  void Clear();
  uint64_t bytes() const;

 private:
  struct HeapNode {
    int64_t count;  ///< Count when the node was last placed; a lower bound.
    uint32_t flow;
  };
  /// Slots per flow; chosen so that lookups of unknown flows rarely collide.
  static constexpr size_t kSlotsPerFlow = 8;

  /// The floor while the container is not full: less than all counts, with a margin against
  /// underflow in subtractions.
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
  std::vector<Flow> flows_;  ///< Element 0 is unused.
  std::vector<HeapNode> heap_;
  std::vector<uint16_t> index_;  ///< Linear probing; 0: free.
  uint64_t mask_;                ///< For index_, whose size is a power of two.
};

}  // namespace sluice::engine::telemetry
