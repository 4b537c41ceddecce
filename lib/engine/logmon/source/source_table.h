// SPDX-License-Identifier: BSD-3-Clause
//
// Table with the state of each source whose text may continue. The size is fixed, and memory is
// allocated once. Untrusted senders fill the table, so the hash has a secret seed and each
// operation has bounded cost: an intrusive hash table with chains. (absl::flat_hash_set was
// measured as an alternative: it stops for a rehash of more than 1 ms about every 50 000
// evictions.)
//
// In a full table, a new source replaces the source that has been idle longest. While sources that
// were seen only once use more than an eighth of the table, they are replaced first. A scan of a
// million ports therefore replaces only its own sources, not the active ones.
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

/// One worker's sources. `State` must be copyable; the state of a new source is `State()`. A place
/// is the index of an entry; it is valid until the source is removed.
template <typename State>
class SourceTable {
 public:
  static constexpr uint32_t kNone = 0;

  /// Creates a table for 1 … 2^30 sources. `seed` must be secret.
  SourceTable(uint32_t capacity, uint64_t seed)
      : entries_(size_t{std::clamp(capacity, 1u, 1u << 30)} + kLists),
        chains_(std::bit_ceil(entries_.size() - kLists)),
        seed_(seed) {
    for (uint32_t list = 0; list < kLists; ++list) {
      entries_[list].newer = entries_[list].older = list;
    }
    for (auto place = static_cast<uint32_t>(entries_.size()); place-- > kLists;) Free(place);
  }

  /// Returns the hash chain of a source and prefetches its head.
  uint64_t Chain(const packet::FlowKey& flow) const {
    const size_t chain = ChainOf(flow);
    __builtin_prefetch(&chains_[chain]);
    return chain;
  }
  /// Returns the place of a source, or kNone. `chain` is the result of Chain.
  uint32_t Find(const packet::FlowKey& flow, uint64_t chain) const {
    uint32_t place = chains_[chain];
    while (place != kNone && entries_[place].flow != flow) place = entries_[place].chain;
    return place;
  }

  uint32_t Find(const packet::FlowKey& flow) const { return Find(flow, ChainOf(flow)); }

  /// Adds a source that Find did not find, and returns its place. If the table is full, first
  /// removes another source and calls `evict(flow, state)` for it.
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

  /// Records that the source was seen again.
  void Touch(uint32_t place, uint64_t now) {
    Entry& entry = entries_[place];
    entry.seen = now;
    Unlink(place);
    new_sources_ -= !entry.settled;
    entry.settled = true;
    Link(place, kSettled);
  }

  /// Calls `last(flow, state)`, then removes the source.
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

  /// Removes up to `most` sources that have been idle for more than `cycles`: first sources that
  /// were seen once, then all others, each group in the order of their last text.
  template <typename Last>
  void ForgetIdle(uint64_t now, uint64_t cycles, uint32_t most, Last&& last) {
    for (const uint32_t list : {kNew, kSettled}) {
      for (; most > 0 && entries_[list].newer != list; --most) {
        const uint32_t oldest = entries_[list].newer;
        // Signed, because the age is negative if a worker's `now` is before the time of the entry.
        if (static_cast<int64_t>(now - entries_[oldest].seen - cycles) <= 0) break;
        Forget(oldest, last);
      }
    }
  }
  /// Removes all sources.
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
  /// Returns the first place. There are capacity() places, which are numbered consecutively. The
  /// state of a free place is State().
  static constexpr uint32_t first_place() { return kLists; }
  /// Returns the number of bytes that the table allocated; constant.
  uint64_t memory_bytes() const {
    return entries_.size() * sizeof(Entry) + chains_.size() * sizeof(uint32_t);
  }

 private:
  /// The first entries are the heads of two lists. Each list is a ring in order of time: the
  /// `newer` neighbour of the head is the oldest source.
  static constexpr uint32_t kNew = 0, kSettled = 1, kLists = 2;

  struct Entry {
    packet::FlowKey flow;
    uint64_t seen = 0;
    State state;
    uint32_t newer = 0, older = 0;
    uint32_t chain = 0;    ///< Next entry of the chain, or of the free list.
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
  std::vector<uint32_t> chains_;  ///< First places of the chains; the size is a power of two.
  uint64_t seed_;
  uint32_t free_ = kNone;
  uint32_t size_ = 0;
  uint32_t new_sources_ = 0;
};

}  // namespace sluice::engine::logmon
