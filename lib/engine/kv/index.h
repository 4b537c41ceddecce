// SPDX-License-Identifier: BSD-3-Clause
//
// An index whose buckets occupy one cache line each (MICA, NSDI'14, section 4.3.2). One thread
// changes the buckets. Other threads read them and detect changes by the version in a chain's first
// bucket, which is odd during a change and has a new value afterwards.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/vector.h"
#include "engine/kv/mapping.h"
#include "engine/kv/word.h"

namespace sluice::engine::kv {

/// A nonzero tag in the upper 16 bits and the offset of an item in the lower 48 bits; 0 if the slot
/// is empty.
using Slot = uint64_t;
constexpr uint64_t OffsetOf(Slot slot) { return slot & ((uint64_t{1} << 48) - 1); }
constexpr uint16_t TagOf(uint64_t hash) { return static_cast<uint16_t>(hash | 1); }
constexpr Slot MakeSlot(uint16_t tag, uint64_t offset) { return uint64_t{tag} << 48 | offset; }

struct alignas(64) Bucket {
  static constexpr int kSlots = 7;

  uint32_t version;
  uint32_t next;  ///< Index of the chain's next bucket; 0: this is the last one.
  Slot slots[kSlots];

  /// Returns a bit per slot that contains this tag. Each slot is loaded as a whole. The result is
  /// exact for the writing thread and a hint for other threads.
  uint32_t Matches(uint16_t tag) const {
    // `version` and `next` occupy the first of eight words.
    return cpu::TopsEqualOf8(reinterpret_cast<const uint64_t*>(this), tag) >> 1;
  }
};
static_assert(sizeof(Bucket) == 64 && offsetof(Bucket, slots) == sizeof(Slot));

/// Marks a chain as changing during the lifetime of the object.
class Change {
 public:
  explicit Change(Bucket& head) : head_(head) {
    Increase(head_.version, 1u);
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~Change() { std::atomic_ref(head_.version).store(head_.version + 1, std::memory_order_release); }
  Change(const Change&) = delete;

 private:
  Bucket& head_;
};

class Index {
 public:
  /// Creates `heads` chains and `extra` buckets to extend them. Throws std::bad_alloc.
  Index(uint32_t heads, uint32_t extra);

  /// Allocates the pages of all heads now; see Mapping::Populate. Extra buckets get pages when they
  /// are first used: there are enough of them for a store that contains only the smallest items,
  /// but most stores use few.
  void PopulatePages() { mapping_.Populate(heads_ * sizeof(Bucket)); }

  uint32_t heads() const { return static_cast<uint32_t>(heads_); }
  uint64_t bytes() const { return mapping_.bytes(); }
  /// Returns the chain of a hash, which is a function of bits 16 to 47 of the hash.
  uint32_t ChainOf(uint64_t hash) const {
    return static_cast<uint32_t>((hash >> 16 & 0xffffffff) * heads_ >> 32);
  }
  Bucket& bucket(uint32_t at) const { return buckets_[at]; }
  Bucket* Next(const Bucket& bucket) const {
    return bucket.next == 0 ? nullptr : &buckets_[bucket.next];
  }

  // Operations on chains, in which all buckets except the last are full. They must be called within
  // the lifetime of a Change.

  /// Adds `slot` to the chain of `head`. Returns false if no bucket is free.
  bool Add(Bucket& head, Slot slot);
  /// Removes `slot`, which must be in the chain. The last slot of the chain moves to its position.
  void Remove(Bucket& head, Slot& slot);
  uint64_t extra_in_use() const { return extra_in_use_; }

 private:
  Mapping mapping_;
  Bucket* buckets_;
  uint64_t heads_;  ///< Below 2^32, but 64 bits wide for ChainOf.
  uint32_t end_;    ///< Number of all buckets.
  uint32_t fresh_;  ///< First bucket that was never used.
  /// First bucket in the list of freed buckets, linked by `next`; 0: the list is empty.
  uint32_t free_ = 0;
  uint64_t extra_in_use_ = 0;
};

}  // namespace sluice::engine::kv
