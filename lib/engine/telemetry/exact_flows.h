// SPDX-License-Identifier: BSD-3-Clause
//
// The flows of an epoch that are counted packet by packet, in a flat table of bounded size. While
// it is *open* it counts every packet. A flow for which there is no room *closes* it: from then on
// until the end of the epoch it counts the packets of the flows that were heavy at that moment, and
// all others are the sketch's. What it counted of a flow that left it stays: the flow's packets are
// that and what the sketch estimates.
//
// A flow is identified by its hash, as in KnownFlows.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

/// Numbers of flows by their hashes, with linear probing.
class FlowIndex {
 public:
  /// For `flows` of them: `slots_per_flow` slots each, at least.
  FlowIndex(size_t flows, uint32_t slots_per_flow);

  /// The first number on the way of `hash` that `is_it` accepts; 0: there is none.
  template <typename IsIt>
  uint32_t Find(uint64_t hash, IsIt&& is_it) const {
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const uint32_t number = slots_[at];
      if (number == 0 || is_it(number)) return number;
    }
  }
  /// Adds one that is not in it. A free slot remains.
  void Add(uint64_t hash, uint32_t number);
  /// Whether it has too few slots for so many flows.
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
  /// One cache line.
  struct Flow {
    packet::FlowKey key;
    uint64_t hash = 0;
    uint64_t pkts = 0;  ///< From the epoch's start on, until it left the table.
    uint64_t bytes = 0;
  };
  static_assert(sizeof(Flow) == 64);

  /// Room for `capacity` flows, at most `most_heavy` of which stay when there is no more. Without
  /// room, it is closed from the start.
  ExactFlows(uint32_t capacity, uint32_t most_heavy);

  /// Counts a packet. False: the table is closed, and the flow is the sketch's. Allocates nothing.
  bool Count(const packet::FlowKey& key, uint64_t hash, uint32_t bytes) {
    return CountKnown(hash, bytes) || CountNew(key, hash, bytes);
  }
  /// Counts a packet of a flow that the table counts already. False: there is no such flow.
  bool CountKnown(uint64_t hash, uint32_t bytes) {
    const uint32_t number = NumberOf(open_ ? all_ : heavy_, hash);
    if (number == 0) [[unlikely]]
      return false;
    CountIn(number, bytes);
    return true;
  }
  /// Counts a packet of a flow for which CountKnown returned false. False as for Count.
  bool CountNew(const packet::FlowKey& key, uint64_t hash, uint32_t bytes) {
    const uint32_t number = open_ ? Add(key, hash) : 0;
    if (number != 0) CountIn(number, bytes);
    return number != 0;
  }
  /// Whether packets of this flow are counted here.
  bool Counts(uint64_t hash) const { return open_ || NumberOf(heavy_, hash) != 0; }
  /// Fetches what Count of this hash reads first.
  void Prefetch(uint64_t hash) const { (open_ ? all_ : heavy_).Prefetch(hash); }

  /// All packets are counted here.
  bool open() const { return open_; }
  /// Packets of some flows are counted here.
  bool watching() const { return open_ || !heavy_flows_.empty(); }
  /// What was counted of a flow, nullptr if nothing was.
  const Flow* Find(uint64_t hash) const {
    const uint32_t number = NumberOf(all_, hash);
    return number == 0 ? nullptr : &flows_[number];
  }
  /// In no order.
  std::span<const Flow> flows() const { return std::span(flows_).subspan(1); }
  /// Σ pkts² of the heavy flows: at most that of all.
  double HeavySquares() const;

  void Clear();
  /// Makes it what another one was: `stays(flow)` says of a closed one which flows it counts.
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
  /// Adds the counts of another one, of the same epoch elsewhere: this one grows as it must. A flow
  /// is counted here to the end if both did so.
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
  /// The flows of at least so many packets are in heavy_flows_, as long as it is open.
  uint64_t threshold_ = 1;
  std::vector<Flow> flows_;  ///< The first is nobody.
  FlowIndex all_;
  std::vector<uint32_t> heavy_flows_;
  FlowIndex heavy_;  ///< Those, when it is closed: so small that a core's cache holds it.
};

}  // namespace sluice::engine::telemetry
