// SPDX-License-Identifier: BSD-3-Clause
//
// One partition of the key-value store (MICA, NSDI'14, sections 4.3 and 4.4): an index of
// 64-byte buckets over items that lie in one stretch of memory. One thread, the owner, calls
// everything; any thread may Read (CREW), and notices by the bucket's version when the owner
// was at it.
//
//   cache   items lie in a circular log; the oldest make room, and a full bucket forgets its
//           oldest. One that is got in the last quarter of its life becomes the newest, so that
//           what is in use stays.
//   store   items lie in a segregated-fit heap; buckets grow chains; nothing is lost, and what
//           does not fit is refused
//
// Unlike MICA's, no slot outlives its item: each item of the log knows its bucket, and what is
// about to be overwritten leaves the index first. So a slot is never checked against the log's
// end, offsets cannot wrap, and a reader's check of the bucket's version covers the log, too.
// An item changes in place only if the new one takes as many words; so it never overruns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "engine/kv/circular_log.h"
#include "engine/kv/hash.h"
#include "engine/kv/index.h"
#include "engine/kv/item.h"
#include "engine/kv/segregated_fit.h"

namespace sluice::engine::kv {

enum class Mode : uint8_t { kCache, kStore };

struct PartitionOptions {
  Mode mode = Mode::kCache;
  /// Of the items, headers included; rounded up to a power of two in cache mode, at least 4 MiB.
  uint64_t memory_bytes = uint64_t{64} << 20;
  /// Expected; sizes the index. Store mode takes more as long as there is memory.
  uint64_t items = 1 << 20;

  /// What memory_bytes comes to.
  uint64_t RoundedMemoryBytes() const;
  /// That and the index, without what store mode adds to it when chains grow.
  uint64_t OccupiedBytes() const;
};

enum class Result : uint8_t {
  kOk,
  kNotFound,
  kExists,     ///< Compare-and-swap: changed since. kIfAbsent: it is there.
  kNotStored,  ///< kIfPresent, Append, Prepend: it is not there.
  kTooLarge,   ///< Key or value, or beyond what the log keeps; longer than what is padded.
  kNoMemory,   ///< Store mode: full.
};

enum class Condition : uint8_t { kAlways, kIfAbsent, kIfPresent, kIfUnchanged };

/// What is kept with a value. Seconds of the caller's clock; 0: never.
struct Attributes {
  uint32_t flags = 0;
  uint32_t expires_s = 0;
};

/// An item as it lies in memory: of the owner, valid until its next change of this partition.
struct ItemView {
  Bytes value;
  Attributes attributes;
  uint64_t unique = 0;  ///< memcached's "cas": another one after every change, never 0.
};

/// What Read copied.
struct ItemCopy {
  uint32_t value_bytes = 0;
  Attributes attributes;
  uint64_t unique = 0;
};

/// What CopyChain did.
enum class Copied : uint8_t {
  kWhole,     ///< All items of the chain as they were together at one moment.
  kChanged,   ///< The owner was at it.
  kTooShort,  ///< The room; how much it takes was true at one moment.
};

/// Totals of one partition; the owner writes, others read relaxed.
struct PartitionCounters {
  uint64_t items = 0;       ///< Live ones that the index knows; expired ones until found.
  uint64_t item_bytes = 0;  ///< With headers and padding, of those.
  uint64_t evicted = 0;     ///< Cache mode: overwritten, or pushed out of the index, unexpired.
  uint64_t expired = 0;
  uint64_t refused = 0;        ///< kNoMemory and kTooLarge.
  uint64_t extra_buckets = 0;  ///< Store mode: in chains.
};

class Partition {
 public:
  /// Reserves index and memory, on huge pages where the host has them. Throws std::bad_alloc.
  explicit Partition(const PartitionOptions& options);
  Partition(Partition&&) noexcept = default;

  /// Takes the pages of PartitionOptions::OccupiedBytes from the kernel: as Mapping::Take. Without
  /// it, requests wait for each page that they are the first to touch.
  void TakePages();

  // The owner. `hash` is the key's; keys have 1 … kMaxKeyBytes bytes (else kTooLarge,
  // kNotFound). `now_s`: seconds; an item whose time has come is not there. Keys and values
  // given must not lie in this partition, except where said.

  std::optional<ItemView> Get(Bytes key, uint64_t hash, uint32_t now_s) {
    if (!IsKey(key)) return std::nullopt;
    Bucket& head = BucketOf(hash);
    Slot* const slot = Find(head, hash, key);
    if (slot == nullptr) return std::nullopt;
    const Item* item = ItemAt(*slot);
    if (item->IsExpired(now_s)) [[unlikely]] {
      Forget(head, *slot, now_s);
      return std::nullopt;
    }
    if (IsDue(*slot)) [[unlikely]]
      item = Renew(head, *slot, now_s);
    return ViewOf(*item);
  }
  /// The same, as it lies in memory; null: it is not there. `likely`: what PrefetchLikely returned
  /// for this key, at any time before.
  [[gnu::always_inline]] const Item* GetLikely(const Slot* likely, Bytes key, uint64_t hash,
                                               uint32_t now_s) {
    // Whatever is in the key's bucket and has the key, is the item.
    if (const Slot slot = *likely; slot != 0) [[likely]] {
      const Item* const item = ItemAt(slot);
      if (Holds(*item, key) && !item->IsExpired(now_s) && !IsDue(slot)) [[likely]]
        return item;
    }
    return GetItem(key, hash, now_s);
  }
  /// `unique`: with kIfUnchanged the expected one. Returns the new one in `unique`, if not null.
  /// What fails changes nothing.
  Result Set(Bytes key, uint64_t hash, Bytes value, Attributes attributes, Condition condition,
             uint32_t now_s, uint64_t* unique = nullptr) {
    // What happens most, in line: the same size as before.
    if (condition == Condition::kAlways && IsKey(key) && value.size() <= max_value_bytes_) {
      Bucket& head = index_.bucket(index_.ChainOf(hash));
      Slot* const slot = Find(head, hash, key);
      if (slot != nullptr) {
        Item& item = *ItemAt(*slot);
        if (!item.IsExpired(now_s) && item.size() == Item::SizeOf(key.size(), value.size())) {
          Overwrite(head, item, key.size(), value, attributes, ++last_unique_);
          if (unique != nullptr) *unique = last_unique_;
          return Result::kOk;
        }
      }
    }
    return SetAnyhow(key, hash, value, attributes, condition, now_s, unique);
  }
  /// Adds `more` behind, or in front of, the value; attributes stay.
  Result Append(Bytes key, uint64_t hash, Bytes more, uint32_t now_s, uint64_t* unique = nullptr) {
    return Extend(key, hash, Bytes(), more, now_s, unique);
  }
  Result Prepend(Bytes key, uint64_t hash, Bytes more, uint32_t now_s, uint64_t* unique = nullptr) {
    return Extend(key, hash, more, Bytes(), now_s, unique);
  }
  /// Puts `text` in the place of a value that is at least as long, and spaces behind it: the
  /// length and the attributes stay.
  Result SetPadded(Bytes key, uint64_t hash, Bytes text, uint32_t now_s, uint64_t* unique);
  /// `unique`: if not 0, only this one.
  Result Delete(Bytes key, uint64_t hash, uint64_t unique, uint32_t now_s);
  /// Changes the expiry alone; `unique` of the item stays.
  Result Touch(Bytes key, uint64_t hash, uint32_t expires_s, uint32_t now_s);
  /// Forgets everything.
  void Clear();
  /// Calls `see(key, view)` for each item that is there, in no order.
  void ForEach(uint32_t now_s, const std::function<void(Bytes key, const ItemView&)>& see) const;

  /// The last `unique` that was given; and makes those to come greater than `unique`.
  uint64_t last_unique() const { return last_unique_; }
  void SkipUniques(uint64_t unique) { last_unique_ = std::max(last_unique_, unique); }
  /// Sets an item of another life, with the `unique` it had.
  Result Restore(Bytes key, uint64_t hash, Bytes value, Attributes attributes, uint64_t unique,
                 uint32_t now_s);

  // Any thread.

  /// The first of a key's chain; the same as long as the partition is.
  Bucket& BucketOf(uint64_t hash) const { return index_.bucket(index_.ChainOf(hash)); }
  /// Copies the value to `to`. kNotFound; kTooLarge: `to` is too short (value_bytes is filled
  /// in). Never a mixture of two values; tries again while the owner writes.
  Result Read(Bytes key, uint64_t hash, uint32_t now_s, std::span<uint8_t> to,
              ItemCopy* copy) const;
  /// Chains of the index, each of which has items of its own: the same as long as the partition is.
  uint32_t chains() const { return index_.heads(); }
  /// Copies the items of a chain, expired ones too, as chain_copy.h has it; once. `bytes`: of the
  /// copy, or that it would take. The owner's own always succeeds, if there is room.
  Copied CopyChain(uint32_t chain, std::span<uint8_t> to, size_t* bytes) const;
  /// The two stages of a lookup's fetches (MICA, NSDI'14, section 4.4): first the bucket;
  /// some requests later, when it is there, the items that its tags promise.
  void PrefetchBucket(uint64_t hash) const { __builtin_prefetch(&BucketOf(hash)); }
  void PrefetchItem(uint64_t hash) const { PrefetchLikely(BucketOf(hash), hash); }
  /// The same of a key whose BucketOf is `head`. Returns the slot where its item is, if it is one
  /// of the first bucket, and no other has its tag.
  const Slot* PrefetchLikely(const Bucket& head, uint64_t hash) const {
    uint32_t left = head.Matches(TagOf(hash));
    const Slot* const likely = &head.slots[left == 0 ? 0 : __builtin_ctz(left)];
    for (; left != 0; left &= left - 1) {
      const uint8_t* const item = data_ + OffsetOf(LoadWord(head.slots[__builtin_ctz(left)]));
      __builtin_prefetch(item);
      __builtin_prefetch(item + kPrefetchedBytes - 1);
    }
    return likely;
  }

  const PartitionCounters& counters() const { return counters_; }
  Mode mode() const { return mode_; }
  /// Of index and memory together: what it may come to occupy.
  uint64_t reserved_bytes() const {
    return index_.bytes() + (log_ ? log_->bytes() : heap_->reserved_bytes());
  }
  /// The longest value that a Set can store.
  uint32_t max_value_bytes() const { return max_value_bytes_; }

 private:
  /// Header, key and value of a tiny item, which begins at any word.
  static constexpr uint64_t kPrefetchedBytes = Item::SizeOf(8, 8);

  struct Found {
    const Item* item;
    uint32_t lengths;
  };

  static bool IsKey(Bytes key) { return key.size() - 1 < kMaxKeyBytes; }
  static ItemView ViewOf(const Item& item) {
    return {item.value(), {item.flags, item.expires_s}, item.unique};
  }
  Item* ItemAt(Slot slot) const { return reinterpret_cast<Item*>(data_ + OffsetOf(slot)); }
  static bool Holds(const Item& item, Bytes key) {
    if (Item::KeyBytes(item.lengths) != key.size()) return false;
    // Many keys are a word: in line.
    if (key.size() == 8) [[likely]]
      return LoadWord(*item.words()) == LoadBytes(key.data());
    return HoldsLonger(item, key);
  }
  static bool HoldsLonger(const Item& item, Bytes key);
  /// Cache mode: in the last quarter of its life.
  bool IsDue(Slot slot) const {
    return mode_ == Mode::kCache && log_->Age(OffsetOf(slot)) > renewal_age_;
  }
  /// Of the owner: the key's slot, or null.
  Slot* Find(Bucket& head, uint64_t hash, Bytes key) const {
    const uint64_t tag = TagOf(hash);
    for (Bucket* bucket = &head; bucket != nullptr; bucket = index_.Next(*bucket)) {
      for (uint32_t left = bucket->Matches(tag); left != 0; left &= left - 1) {
        Slot& slot = bucket->slots[__builtin_ctz(left)];
        if (Holds(*ItemAt(slot), key)) [[likely]]
          return &slot;
      }
    }
    return nullptr;
  }
  /// The same, if the item is there at this time.
  Slot* FindLive(Bucket& head, uint64_t hash, Bytes key, uint32_t now_s);
  const Item* GetItem(Bytes key, uint64_t hash, uint32_t now_s);
  /// Once through the chain; false: the owner was at it.
  bool TryFind(const Bucket& head, uint32_t version, uint64_t hash, Bytes key, Found* found) const;
  /// Once; nothing: the owner was at it.
  std::optional<Result> TryRead(const Bucket& head, Bytes key, uint64_t hash, uint32_t now_s,
                                std::span<uint8_t> to, ItemCopy* copy) const;

  /// Takes what `slot` refers to out of the index, counts why, and frees its memory.
  void Forget(Bucket& head, Slot& slot, uint32_t now_s);
  /// The same, of an item that is gone anyway: without telling readers, or counting why.
  void Remove(Bucket& head, Slot& slot);
  /// Cache mode: makes an item the newest.
  Item* Renew(Bucket& head, Slot& slot, uint32_t now_s);
  /// Cache mode: room in the log. What was there leaves the index, but for the item at `kept`.
  uint64_t AppendToLog(uint64_t bytes, uint64_t kept, uint32_t now_s);
  /// Room for an item; in store mode, kNowhere: full. May move `*slot`, if not null.
  uint64_t Allocate(uint64_t bytes, Bucket& head, Slot** slot, uint32_t now_s);
  /// Store mode: forgets expired items of some chains.
  void Sweep(uint32_t now_s);
  /// In place: the value takes as many words as before, or fewer.
  static void Overwrite(Bucket& head, Item& item, size_t key_bytes, Bytes value,
                        Attributes attributes, uint64_t unique) {
    const Change change(head);
    StoreWord(item.lengths, Item::Lengths(key_bytes, value.size()));
    StoreWord(item.flags, attributes.flags);
    StoreWord(item.expires_s, attributes.expires_s);
    StoreWord(item.unique, unique);
    WordWriter writer(item.words() + RoundUp8(key_bytes) / 8);
    writer.Write(value);
    writer.Finish();
  }
  Result SetAnyhow(Bytes key, uint64_t hash, Bytes value, Attributes attributes,
                   Condition condition, uint32_t now_s, uint64_t* unique);
  Result Put(Bytes key, uint64_t hash, Bytes value, Attributes attributes, Condition condition,
             uint64_t expected, uint64_t unique, uint32_t now_s);
  /// Puts an item whose value is the three parts into new memory, in the place of the one that
  /// `slot` refers to, if not null. Lengths were checked. False: full.
  bool Replace(Bucket& head, uint64_t hash, Slot* slot, Bytes key, const Bytes (&parts)[3],
               Attributes attributes, uint64_t unique, uint32_t now_s);
  Result Extend(Bytes key, uint64_t hash, Bytes front, Bytes back, uint32_t now_s,
                uint64_t* unique);
  Result Refuse(Result why);

  static constexpr uint64_t kNowhere = ~uint64_t{0};

  Mode mode_;
  uint32_t max_value_bytes_ = 0;
  uint64_t renewal_age_ = 0;
  uint8_t* data_ = nullptr;  ///< Of log or heap.
  Index index_;
  std::optional<CircularLog> log_;
  std::optional<SegregatedFit> heap_;
  uint64_t last_unique_ = 0;
  uint32_t sweep_at_ = 0;  ///< The next chain of Sweep.
  PartitionCounters counters_;
};

}  // namespace sluice::engine::kv
