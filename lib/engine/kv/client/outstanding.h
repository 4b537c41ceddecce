// SPDX-License-Identifier: BSD-3-Clause
//
// Requests that wait for their answers, by id and in the order in which they were sent.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::engine::kv::client {

struct Pending {
  uint64_t due_ns = 0;   ///< Time at which the request is due; latency counts from this time.
  uint64_t sent_ns = 0;  ///< Time at which the request was sent.
  uint64_t route = 0;    ///< RouteHash of the key.
  uint64_t item = 0;
  uint32_t version = 0;  ///< Set: version of the value. Get: oldest version that is correct.
  bool set = false;
  bool preload = false;
};

/// A fixed-size table. An id contains the slot and the slot's use count, so that a late answer does
/// not match a newer request. If the protocol returns only the slot, the only protection is that
/// slots are reused in the order in which they were freed.
class Outstanding {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// `slots` is 1 … 65536. `whole_ids` means that answers contain all 32 bits of an id, not only
  /// 16.
  Outstanding(uint32_t slots, bool whole_ids)
      : id_mask_(whole_ids ? UINT32_MAX : 0xffff), entries_(slots), free_(slots) {
    for (uint32_t slot = 0; slot < slots; ++slot) free_[slot] = slot;
  }

  uint32_t count() const { return count_; }
  bool full() const { return count_ == entries_.size(); }

  /// Allocates a slot for a request that has not been sent yet. The table must not be full.
  uint32_t Allocate(const Pending& pending) {
    const uint32_t slot = free_[first_free_];
    if (++first_free_ == free_.size()) first_free_ = 0;
    ++count_;
    entries_[slot].pending = pending;
    return slot;
  }
  Pending& operator[](uint32_t slot) { return entries_[slot].pending; }
  const Pending& operator[](uint32_t slot) const { return entries_[slot].pending; }
  uint32_t IdOf(uint32_t slot) const { return uint32_t{entries_[slot].uses} << 16 | slot; }

  /// Records that the request was sent and waits for its answer.
  void Sent(uint32_t slot, uint64_t now_ns) {
    Entry& entry = entries_[slot];
    entry.pending.sent_ns = now_ns;
    entry.sent = true;
    entry.before = newest_;
    entry.after = kNone;
    (newest_ == kNone ? oldest_ : entries_[newest_].after) = slot;
    newest_ = slot;
  }
  /// Returns the slot of the request that was sent first, or kNone.
  uint32_t oldest() const { return oldest_; }

  /// Returns the slot that waits for an answer with this id, or kNone.
  uint32_t Find(uint32_t id) const {
    const uint32_t slot = id & 0xffff;
    if (slot >= entries_.size() || !entries_[slot].sent) return kNone;
    return ((IdOf(slot) ^ id) & id_mask_) == 0 ? slot : kNone;
  }

  /// Frees the slot of a request that was sent.
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
  std::vector<uint32_t> free_;  // A ring of free slots that starts at first_free_.
  size_t first_free_ = 0;
};

}  // namespace sluice::engine::kv::client
