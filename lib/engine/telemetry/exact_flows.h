// SPDX-License-Identifier: BSD-3-Clause
//
// A bounded flat table of an epoch's flows that are counted packet by packet. While the table is
// *open*, it counts every packet. A new flow that does not fit *closes* it. From then until the end
// of the epoch, it counts only packets of the flows that were heavy when it closed, and the sketch
// counts all other packets. Counts of flows that moved to the sketch remain in the table; such a
// flow's packets are that count plus the sketch's estimate.
//
// A flow is identified by its hash, as in KnownFlows.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

/// Maps hashes to flow numbers, with linear probing.
class FlowIndex {
 public:
  /// Creates an index with at least `slots_per_flow` slots for each of `flows` flows.
  FlowIndex(size_t flows, uint32_t slots_per_flow);

  /// Returns the first number in the probe sequence of `hash` that `is_it` accepts, or 0.
  template <typename IsIt>
  uint32_t Find(uint64_t hash, IsIt&& is_it) const {
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const uint32_t number = slots_[at];
      if (number == 0 || is_it(number)) return number;
    }
  }
  /// Adds a flow that is not in the index. At least one slot must remain free.
  void Add(uint64_t hash, uint32_t number);
  /// Returns whether the index has too few slots for `flows` flows.
  bool TooSmallFor(size_t flows) const { return slots_.size() < slots_per_flow_ * flows; }
  void Prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }
  void Clear();
  uint64_t bytes() const { return slots_.size() * sizeof(uint32_t); }

 private:
  uint32_t slots_per_flow_;
  std::vector<uint32_t> slots_;
  uint64_t mask_;
};

class ExactFlows {
 public:
  /// The counts of one flow, in one cache line.
  struct Flow {
    packet::FlowKey key;
    uint64_t hash = 0;
    uint64_t pkts = 0;  ///< Since the epoch's start, or until the flow moved to the sketch.
    uint64_t bytes = 0;
  };
  static_assert(sizeof(Flow) == 64);

  /// Creates a table for `capacity` flows. When it closes, it continues to count at most
  /// `most_heavy` of them. A table with capacity 0 is closed from the start.
  ExactFlows(uint32_t capacity, uint32_t most_heavy);

  /// Counts a packet. Returns false if the table is closed and the sketch counts the flow. Does not
  /// allocate.
  bool Count(const packet::FlowKey& key, uint64_t hash, uint32_t bytes) {
    return CountKnown(hash, bytes) || CountNew(key, hash, bytes);
  }
  /// Counts a packet of a flow that the table already counts. Returns false if it does not count
  /// the flow.
  bool CountKnown(uint64_t hash, uint32_t bytes) {
    const uint32_t number = NumberOf(open_ ? all_ : heavy_, hash);
    if (number == 0) [[unlikely]]
      return false;
    CountIn(number, bytes);
    return true;
  }
  /// Counts a packet of a flow for which CountKnown returned false. Returns false under the same
  /// condition as Count.
  bool CountNew(const packet::FlowKey& key, uint64_t hash, uint32_t bytes) {
    const uint32_t number = open_ ? Add(key, hash) : 0;
    if (number != 0) CountIn(number, bytes);
    return number != 0;
  }
  /// Returns whether the table counts packets of this flow.
  bool Counts(uint64_t hash) const { return open_ || NumberOf(heavy_, hash) != 0; }
  /// Prefetches the first cache line that Count reads for this hash.
  void Prefetch(uint64_t hash) const { (open_ ? all_ : heavy_).Prefetch(hash); }

  /// Returns whether the table counts all packets.
  bool open() const { return open_; }
  /// Returns whether the table counts packets of any flow.
  bool watching() const { return open_ || !heavy_flows_.empty(); }
  /// Returns the counts of a flow, or nullptr if the flow is not in the table.
  const Flow* Find(uint64_t hash) const {
    const uint32_t number = NumberOf(all_, hash);
    return number == 0 ? nullptr : &flows_[number];
  }
  /// Returns all flows, unordered.
  std::span<const Flow> flows() const { return std::span(flows_).subspan(1); }
  /// Returns Σ pkts² of the heavy flows, a lower bound of the sum over all flows.
  double HeavySquares() const;

  void Clear();
  /// Restores the state of another table. If that table is closed, `stays(flow)` returns whether it
  /// still counts the flow.
  template <typename Stays>
  void Restore(std::span<const Flow> flows, bool open, Stays&& stays) {
    Clear();
    for (const Flow& flow : flows) AddTo(flow);
    std::vector<uint64_t> staying;
    for (const Flow& flow : flows) {
      if (!open && stays(flow)) staying.push_back(flow.hash);
    }
    SetState(open, staying);
  }
  /// Adds the counts of another table of the same epoch; this table grows as needed. Afterwards it
  /// counts a flow only if both tables counted it.
  void Merge(const ExactFlows& other);
  uint64_t bytes() const;

 private:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  uint32_t NumberOf(const FlowIndex& index, uint64_t hash) const {
    return index.Find(hash, [&](uint32_t number) { return flows_[number].hash == hash; });
  }
  void CountIn(uint32_t number, uint32_t bytes) {
    Flow& flow = flows_[number];
    flow.bytes += bytes;
    if (++flow.pkts == threshold_) [[unlikely]]
      NoteHeavy(number);
  }
  uint32_t Add(const packet::FlowKey& key, uint64_t hash);
  void NoteHeavy(uint32_t number);
  void Close();
  void AddTo(const Flow& more);
  void SetState(bool open, std::span<const uint64_t> staying);

  uint32_t capacity_;
  uint32_t most_heavy_;
  bool open_;
  /// While open, heavy_flows_ contains the flows of at least this many packets.
  uint64_t threshold_ = 1;
  std::vector<Flow> flows_;  ///< Element 0 is unused.
  FlowIndex all_;
  std::vector<uint32_t> heavy_flows_;
  FlowIndex heavy_;  ///< Index of heavy_flows_, filled on closing; fits into a core's cache.
};

}  // namespace sluice::engine::telemetry
