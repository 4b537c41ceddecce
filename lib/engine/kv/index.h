// SPDX-License-Identifier: BSD-3-Clause
//
// Buckets of one cache line each (MICA, NSDI'14, section 4.3.2). One thread changes them; others
// read, and notice a change by the version of the first bucket of a chain: odd while it lasts,
// another one afterwards.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/vector.h"
#include "engine/kv/mapping.h"
#include "engine/kv/word.h"

namespace sluice::engine::kv {

/// A tag of 16 bits that is not 0, and an item's offset of 48 bits. 0: nothing.
using Slot = uint64_t;
constexpr uint64_t OffsetOf(Slot slot) { return slot & ((uint64_t{1} << 48) - 1); }
constexpr uint64_t TagOf(uint64_t hash) { return (hash & 0xffff) == 0 ? 1 : hash & 0xffff; }
constexpr Slot MakeSlot(uint64_t tag, uint64_t offset) { return tag << 48 | offset; }

struct alignas(64) Bucket {
  static constexpr int kSlots = 7;

  uint32_t version;
  uint32_t next;  ///< 0: none.
  Slot slots[kSlots];

  /// Bits of the slots with this tag. Each slot is read whole: of the thread that writes it is
  /// true, of others a guess.
  uint32_t Matches(uint64_t tag) const {
    // `version` and `next` are the first of eight words.
    return cpu::TopsEqualOf8(reinterpret_cast<const uint64_t*>(this), tag) >> 1;
  }
};
static_assert(sizeof(Bucket) == 64 && offsetof(Bucket, slots) == sizeof(Slot));

/// Marks a chain as being changed while it lives.
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
  /// `heads` chains, and `extra` more buckets for them. Throws std::bad_alloc.
  Index(uint32_t heads, uint32_t extra);

  /// Takes the pages of all heads: as Mapping::Take. Extra buckets take theirs when they are used:
  /// there are as many as the smallest items might need, which hardly any store comes near.
  void TakePages() { mapping_.Take(uint64_t{heads_} * sizeof(Bucket)); }

  uint32_t heads() const { return heads_; }
  uint64_t bytes() const { return mapping_.bytes(); }
  /// The chain of a hash, by its bits 16 to 47.
  uint32_t ChainOf(uint64_t hash) const {
    return static_cast<uint32_t>((hash >> 16 & 0xffffffff) * heads_ >> 32);
  }
  Bucket& bucket(uint32_t at) const { return buckets_[at]; }
  Bucket* Next(const Bucket& bucket) const {
    return bucket.next == 0 ? nullptr : &buckets_[bucket.next];
  }

  // Chains, of which all buckets but the last are full. Inside a Change.

  /// False: there is no bucket left.
  bool Add(Bucket& head, Slot slot);
  /// `slot` is one of the chain. The last of the chain takes its place.
  void Remove(Bucket& head, Slot& slot);
  uint64_t extra_in_use() const { return extra_in_use_; }

 private:
  Mapping mapping_;
  Bucket* buckets_;
  uint32_t heads_;
  uint32_t end_;       ///< Of all buckets.
  uint32_t fresh_;     ///< The first that was never in use.
  uint32_t free_ = 0;  ///< Used ones that are free, by `next`.
  uint64_t extra_in_use_ = 0;
};

}  // namespace sluice::engine::kv
