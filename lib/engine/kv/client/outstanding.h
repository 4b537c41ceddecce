// SPDX-License-Identifier: BSD-3-Clause
//
// Requests that wait for their answers, found by the id that comes back, and in the order in
// which they were sent.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::engine::kv::client {

struct Pending {
  uint64_t due_ns = 0;   ///< When it should have been sent: latency counts from here.
  uint64_t sent_ns = 0;  ///< When it was.
  uint64_t route = 0;    ///< RouteHash of the key.
  uint64_t item = 0;
  uint32_t version = 0;  ///< Of a set: its value's. Of a get: the oldest that it may find.
  bool set = false;
  bool preload = false;
};

/// A table of fixed size. An id is a slot and the count of its uses, so that answers that come
/// too late are not taken for those to newer requests; where the protocol brings back the slot
/// alone, that a slot is not used again before all others were has to do.
class Outstanding {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// `slots`: 1 … 65536. `whole_ids`: all 32 bits of an id come back, not just 16.
  Outstanding(uint32_t slots, bool whole_ids)
      : id_mask_(whole_ids ? UINT32_MAX : 0xffff), entries_(slots), free_(slots) {
    for (uint32_t slot = 0; slot < slots; ++slot) free_[slot] = slot;
  }

  uint32_t count() const { return count_; }
  bool full() const { return count_ == entries_.size(); }

  /// A slot for one more, which is not sent yet. Not if full.
  uint32_t Take(const Pending& pending) {
    const uint32_t slot = free_[first_free_];
    if (++first_free_ == free_.size()) first_free_ = 0;
    ++count_;
    entries_[slot].pending = pending;
    return slot;
  }
  Pending& operator[](uint32_t slot) { return entries_[slot].pending; }
  const Pending& operator[](uint32_t slot) const { return entries_[slot].pending; }
  uint32_t IdOf(uint32_t slot) const { return uint32_t{entries_[slot].uses} << 16 | slot; }

  /// From now on it waits for its answer.
  void Sent(uint32_t slot, uint64_t now_ns) {
    Entry& entry = entries_[slot];
    entry.pending.sent_ns = now_ns;
    entry.sent = true;
    entry.before = newest_;
    entry.after = kNone;
    (newest_ == kNone ? oldest_ : entries_[newest_].after) = slot;
    newest_ = slot;
  }
  /// The one sent first; kNone.
  uint32_t oldest() const { return oldest_; }

  /// The slot that waits for an answer with this id; kNone.
  uint32_t Find(uint32_t id) const {
    const uint32_t slot = id & 0xffff;
    if (slot >= entries_.size() || !entries_[slot].sent) return kNone;
    return ((IdOf(slot) ^ id) & id_mask_) == 0 ? slot : kNone;
  }

  /// Of one that was sent.
  void Release(uint32_t slot) {
    Entry& entry = entries_[slot];
    (entry.before == kNone ? oldest_ : entries_[entry.before].after) = entry.after;
    (entry.after == kNone ? newest_ : entries_[entry.after].before) = entry.before;
    entry.sent = false;
    ++entry.uses;
    const size_t behind = first_free_ + free_.size() - count_;
    free_[behind < free_.size() ? behind : behind - free_.size()] = slot;
    --count_;
  }

 private:
  struct Entry {
    Pending pending;
    uint32_t before = kNone, after = kNone;
    uint16_t uses = 0;
    bool sent = false;
  };

  uint32_t id_mask_;
  uint32_t count_ = 0;
  uint32_t oldest_ = kNone, newest_ = kNone;
  std::vector<Entry> entries_;
  std::vector<uint32_t> free_;  // A ring; those that are taken leave holes behind first_free_.
  size_t first_free_ = 0;
};

}  // namespace sluice::engine::kv::client
