// SPDX-License-Identifier: BSD-3-Clause
//
// The counters of one KeySpec: a table (ExactFlows) and the levels of UnivMon (Liu et al.,
// SIGCOMM'16). The table counts flows packet by packet while all flows fit. The first level, a
// sketch with its known flows, counts all other packets. Each further level counts half of the
// flows of the previous level.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "engine/telemetry/exact_flows.h"
#include "engine/telemetry/known_flows.h"
#include "engine/telemetry/oracle.h"
#include "engine/telemetry/setup.h"
#include "engine/telemetry/sketch.h"
#include "engine/telemetry/unit.h"
#include "packet/bytes.h"
#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

struct Level {
  Sketch sketch;
  KnownFlows known;
};

class FlowCounter {
 public:
  /// Counts setup.keys[key]. Throws std::bad_alloc.
  FlowCounter(const Setup& setup, size_t key);

  const KeySpec& spec() const { return spec_; }
  /// Returns the hash of a key made by spec(). An IPv4 key is hashed as its two words.
  uint64_t HashOf(const packet::FlowKey& key) const {
    if (key.ip_version == 4) return HashOf(packet::Ipv4Flow::Of(key));
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&key);
    const auto word = [&](uint32_t i) { return packet::Load<uint64_t>(bytes + 8 * i) ^ salts_[i]; };
    return Finish(packet::FoldProduct(word(0), word(1)) ^ packet::FoldProduct(word(2), word(3)) ^
                  packet::FoldProduct(word(4), salts_[5]));
  }
  uint64_t HashOf(const packet::Ipv4Flow& flow) const {
    return Finish(packet::FoldProduct(flow.addresses ^ salts_[0], flow.ports ^ salts_[1]));
  }

  /// Returns the key that the next CountRow will count. The caller must write all of its bytes.
  packet::FlowKey& next_key() { return pending_[pending_count_].key; }
  /// Counts a packet of next_key() in one row with a weight of `weight`/kUnit packets, unless
  /// exact() counts the flow. The update may be delayed until Settle.
  void CountRow(uint32_t row, int64_t weight, uint32_t bytes) {
    Pending& update = pending_[pending_count_];
    update.hash = HashOf(update.key);
    if (exact_.Counts(update.hash)) return;
    update.place = levels_[0].sketch.PlaceOf(row, update.hash);
    __builtin_prefetch(update.place.cell, 1);
    update.weight = weight;
    update.row = row;
    update.bytes = bytes;
    if (++pending_count_ == kPending) [[unlikely]]
      Settle();
  }
  /// Counts a packet of a flow in exact(). If exact() does not count the flow and `whole` is set,
  /// counts the packet in all rows. `Flow` is packet::FlowKey as made by spec(), or
  /// packet::Ipv4Flow if the keys of spec() are 5-tuples.
  template <typename Flow>
  void CountPacket(const Flow& flow, uint32_t bytes, bool whole) {
    const uint64_t hash = HashOf(flow);
    if (exact_.CountKnown(hash, bytes)) [[likely]]
      return;
    if (exact_.open() || whole) CountUnknown(KeyOf(flow), hash, bytes, whole);
  }
  /// Counts a packet in all rows with weight 1. exact() must not count it.
  void CountWhole(const packet::FlowKey& key, uint64_t hash, uint32_t bytes);
  /// Applies all delayed updates to levels().
  void Settle();

  ExactFlows& exact() { return exact_; }
  const ExactFlows& exact() const { return exact_; }
  std::span<const Level> levels() const { return levels_; }
  /// Returns the index of the last level that contains this flow. Half of the flows of each level
  /// also belong to the next level.
  uint32_t DepthOf(uint64_t hash) const {
    const uint64_t mixed = packet::FoldProduct(hash ^ depth_salt_, kDepthFactor);
    return static_cast<uint32_t>(std::countr_zero(mixed | deepest_));
  }
  Oracle& oracle() { return oracle_; }
  const Oracle& oracle() const { return oracle_; }

  void Clear();
  /// Restores a level from another counter with an equal setup. `cells` contains the level's
  /// counters, row by row, and `flows` its known flows: at most known.capacity(), without
  /// duplicates. `complete` is known.complete() of the level.
  void Restore(size_t level, std::span<const Cell> cells, std::span<const KnownFlows::Flow> flows,
               bool complete);
  /// Adds the counts of another counter with an equal setup. Both must be settled.
  void Merge(const FlowCounter& other);
  uint64_t bytes() const;

 private:
  /// A sampled row. Updates are applied in batches, so that their cache misses overlap.
  struct Pending {
    packet::FlowKey key;
    uint64_t hash;
    Sketch::Place place;  ///< Counter in the first level.
    int64_t weight;
    uint32_t row;
    uint32_t bytes;
  };
  struct Free {
    void operator()(Cell* cells) const { std::free(cells); }
  };
  static constexpr uint32_t kPending = 32;
  static constexpr uint64_t kHashFactor = 0x9e3779b97f4a7c15;
  static constexpr uint64_t kDepthFactor = 0xa0761d6478bd642f;  // An arbitrary odd constant.

  uint64_t Finish(uint64_t mixed) const {
    return packet::FoldProduct(mixed ^ salts_[6], kHashFactor);
  }
  static const packet::FlowKey& KeyOf(const packet::FlowKey& key) { return key; }
  static packet::FlowKey KeyOf(const packet::Ipv4Flow& flow) { return flow.Key(); }
  [[gnu::noinline]] void CountUnknown(const packet::FlowKey& key, uint64_t hash, uint32_t bytes,
                                      bool whole);
  void AllocateCells(size_t cells);
  static void CountRowIn(Level& level, const Pending& update, Sketch::Place place);
  static void MergeLevel(Level& mine, const Level& theirs);
  static void CountWholeIn(Level& level, const packet::FlowKey& key, uint64_t hash, uint32_t bytes);

  KeySpec spec_;
  ExactFlows exact_;
  std::array<uint64_t, 7> salts_;
  uint64_t depth_salt_;
  uint64_t deepest_;  ///< Bit that limits DepthOf to the number of levels.
  size_t cells_bytes_ = 0;
  std::unique_ptr<Cell[], Free> cells_;  ///< Cells of all levels.
  std::vector<Level> levels_;
  Oracle oracle_;
  uint32_t pending_count_ = 0;
  std::array<Pending, kPending> pending_;
};

}  // namespace sluice::engine::telemetry
