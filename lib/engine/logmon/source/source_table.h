// SPDX-License-Identifier: BSD-3-Clause
//
// What is known of each source whose text may go on: a bounded table, allocated once. Strangers
// fill it, so the hash has a secret seed and every operation a bounded cost: an intrusive table
// of chains. (absl::flat_hash_set, measured in its place, stops for a rehash of more than 1 ms
// about every 50 000 evictions.)
//
// A full table gives the place of the source that was idle longest to the new one. Sources that
// were seen once only go first, while they are more than an eighth of the places: a scan of a
// million ports pushes out others of its kind, not the sources that are at work.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "packet/flow_key.h"

namespace sluice::engine::logmon {

/// One worker's. `State` is copyable, and of a new source `State()`. A place is a number of an
/// entry, valid until the source is forgotten.
template <typename State>
class SourceTable {
 public:
  static constexpr uint32_t kNone = 0;

  /// `capacity` sources, 1 … 2^30. `seed` is secret.
  SourceTable(uint32_t capacity, uint64_t seed)
      : entries_(size_t{std::clamp(capacity, 1u, 1u << 30)} + kLists),
        chains_(std::bit_ceil(entries_.size() - kLists)),
        seed_(seed) {
    for (uint32_t list = 0; list < kLists; ++list) {
      entries_[list].newer = entries_[list].older = list;
    }
    for (auto place = static_cast<uint32_t>(entries_.size()); place-- > kLists;) Free(place);
  }

  /// Where a search for a source begins; it is fetched.
  uint64_t Chain(const packet::FlowKey& flow) const {
    const size_t chain = ChainOf(flow);
    __builtin_prefetch(&chains_[chain]);
    return chain;
  }
  /// The place of a source, or kNone. `chain`: its Chain.
  uint32_t Find(const packet::FlowKey& flow, uint64_t chain) const {
    uint32_t place = chains_[chain];
    while (place != kNone && entries_[place].flow != flow) place = entries_[place].chain;
    return place;
  }

  uint32_t Find(const packet::FlowKey& flow) const { return Find(flow, ChainOf(flow)); }

  /// A place for a source that Find did not find. If the table is full, another one is forgotten
  /// for it, after `evict(flow, state)`.
  template <typename Evict>
  uint32_t Insert(const packet::FlowKey& flow, uint64_t now, Evict&& evict) {
    if (free_ == kNone) {
      const bool scanned = new_sources_ > capacity() / 8 || entries_[kSettled].newer == kSettled;
      Forget(entries_[scanned ? kNew : kSettled].newer, evict);
    }
    const uint32_t place = free_;
    Entry& entry = entries_[place];
    free_ = entry.chain;
    entry.flow = flow;
    uint32_t& chain = chains_[ChainOf(flow)];
    entry.chain = chain;
    chain = place;
    entry.seen = now;
    entry.settled = false;
    ++new_sources_;
    ++size_;
    Link(place, kNew);
    return place;
  }

  /// The source was seen again.
  void Touch(uint32_t place, uint64_t now) {
    Entry& entry = entries_[place];
    entry.seen = now;
    Unlink(place);
    new_sources_ -= !entry.settled;
    entry.settled = true;
    Link(place, kSettled);
  }

  /// Forgets a source, after `last(flow, state)`.
  template <typename Last>
  void Forget(uint32_t place, Last&& last) {
    Entry& entry = entries_[place];
    last(std::as_const(entry.flow), entry.state);
    uint32_t* link = &chains_[ChainOf(entry.flow)];
    while (*link != place) link = &entries_[*link].chain;
    *link = entry.chain;
    Unlink(place);
    new_sources_ -= !entry.settled;
    --size_;
    entry.state = State();
    Free(place);
  }

  /// Forgets at most `most` sources that were idle for more than `cycles`, longest idle first of
  /// those seen once and of the others.
  template <typename Last>
  void ForgetIdle(uint64_t now, uint64_t cycles, uint32_t most, Last&& last) {
    for (const uint32_t list : {kNew, kSettled}) {
      for (; most > 0 && entries_[list].newer != list; --most) {
        const uint32_t oldest = entries_[list].newer;
        // As signed: a worker's `now` that fell behind is no age.
        if (static_cast<int64_t>(now - entries_[oldest].seen - cycles) <= 0) break;
        Forget(oldest, last);
      }
    }
  }
  /// Forgets all.
  template <typename Last>
  void ForgetAll(Last&& last) {
    for (const uint32_t list : {kNew, kSettled}) {
      while (entries_[list].newer != list) Forget(entries_[list].newer, last);
    }
  }

  State& state(uint32_t place) { return entries_[place].state; }
  const packet::FlowKey& flow(uint32_t place) const { return entries_[place].flow; }
  uint32_t size() const { return size_; }
  uint32_t capacity() const { return static_cast<uint32_t>(entries_.size()) - kLists; }
  /// Places are from here, `capacity()` of them; the state of a free one is State().
  static constexpr uint32_t first_place() { return kLists; }
  /// All that it ever allocates.
  uint64_t memory_bytes() const {
    return entries_.size() * sizeof(Entry) + chains_.size() * sizeof(uint32_t);
  }

 private:
  /// The first entries are heads of lists, rings in the order of time: a head's newer neighbour
  /// is the oldest source.
  static constexpr uint32_t kNew = 0, kSettled = 1, kLists = 2;

  struct Entry {
    packet::FlowKey flow;
    uint64_t seen = 0;
    State state;
    uint32_t newer = 0, older = 0;
    uint32_t chain = 0;    ///< The next of its chain, or of the free ones.
    bool settled = false;  ///< Seen more than once.
  };

  size_t ChainOf(const packet::FlowKey& flow) const {
    return packet::HashFlowKey(flow, seed_) & (chains_.size() - 1);
  }
  void Free(uint32_t place) {
    entries_[place].chain = free_;
    free_ = place;
  }
  void Link(uint32_t place, uint32_t list) {
    const uint32_t newest = entries_[list].older;
    entries_[place].older = newest;
    entries_[place].newer = list;
    entries_[newest].newer = place;
    entries_[list].older = place;
  }
  void Unlink(uint32_t place) {
    const Entry& entry = entries_[place];
    entries_[entry.older].newer = entry.newer;
    entries_[entry.newer].older = entry.older;
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> chains_;  ///< First places of the chains; a power of two.
  uint64_t seed_;
  uint32_t free_ = kNone;
  uint32_t size_ = 0;
  uint32_t new_sources_ = 0;
};

}  // namespace sluice::engine::logmon
