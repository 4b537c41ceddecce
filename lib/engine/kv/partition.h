// SPDX-License-Identifier: BSD-3-Clause
//
// One partition of the key-value store (MICA, NSDI'14, sections 4.3 and 4.4): an index of 64-byte
// buckets for items in one contiguous memory area. One thread, the owner, may call all functions.
// Other threads may only read (CREW); their functions detect concurrent changes by the bucket's
// version.
//
//   cache   items are in a circular log; new ones overwrite the oldest, and a full bucket drops its
//           oldest item. An item that is read in the last quarter of its life becomes the newest,
//           so that items in use are not overwritten.
//   store   items are in a segregated-fit heap; buckets are extended to chains; no item is
//           lost, and items that do not fit are rejected
//
// Unlike in MICA, no slot outlives its item: each item of the log refers to its bucket, and an item
// that is about to be overwritten leaves the index first. So no slot has to be checked against the
// end of the log, offsets cannot wrap, and a reader's check of the bucket's version also covers the
// log. An item is changed in place only if the new one needs the same number of words or, in a full
// heap, fewer.
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
  /// Memory of the items, headers included. Cache mode rounds it up to a power of two, at least 4
  /// MiB.
  uint64_t memory_bytes = uint64_t{64} << 20;
  /// Expected number of items; sizes the index. Store mode accepts more while there is memory.
  uint64_t items = 1 << 20;

  /// Returns memory_bytes after rounding.
  uint64_t RoundedMemoryBytes() const;
  /// Returns RoundedMemoryBytes() plus the index, without the buckets that store mode adds to
  /// chains.
  uint64_t OccupiedBytes() const;
};

enum class Result : uint8_t {
  kOk,
  kNotFound,
  kExists,     ///< Compare-and-swap: the item changed. kIfAbsent: it exists.
  kNotStored,  ///< kIfPresent, Append, Prepend: the item does not exist.
  kTooLarge,   ///< Key or value exceeds a limit; SetPadded: the text is longer than the value.
  kNoMemory,   ///< Store mode: the heap is full.
};

enum class Condition : uint8_t { kAlways, kIfAbsent, kIfPresent, kIfUnchanged };

/// Attributes of a value. The expiry is in seconds of the caller's clock; 0 means never.
struct Attributes {
  uint32_t flags = 0;
  uint32_t expires_s = 0;
};

/// A view of an item in memory. The owner's view is valid until the owner changes the partition.
struct ItemView {
  Bytes value;
  Attributes attributes;
  uint64_t unique = 0;  ///< memcached's "cas": changes with every change of the item, never 0.
};

/// Result of Read in addition to the value.
struct ItemCopy {
  uint32_t value_bytes = 0;
  Attributes attributes;
  uint64_t unique = 0;
};

/// Result of CopyChain.
enum class Copied : uint8_t {
  kWhole,     ///< All items of the chain as of one moment.
  kChanged,   ///< The owner changed the chain meanwhile.
  kTooShort,  ///< `to` is too short; `bytes` is the size of a complete copy.
};

/// One partition's totals. The owner writes them; other threads read them with relaxed loads.
struct PartitionCounters {
  uint64_t items = 0;       ///< Items in the index, including expired ones not found yet.
  uint64_t item_bytes = 0;  ///< Bytes of these items with headers and padding.
  uint64_t evicted = 0;     ///< Cache mode: unexpired items dropped from log or index.
  uint64_t expired = 0;
  uint64_t refused = 0;        ///< Results kNoMemory and kTooLarge, except those of SetPadded.
  uint64_t extra_buckets = 0;  ///< Store mode: buckets that extend chains.
};

class Partition {
 public:
  /// Reserves index and memory, on huge pages if the host has them. Throws std::bad_alloc.
  explicit Partition(const PartitionOptions& options);
  Partition(Partition&&) noexcept = default;

  /// Allocates the pages of PartitionOptions::OccupiedBytes now; see Mapping::Populate. Without
  /// this call, the first access to a page delays the request.
  void PopulatePages();

  // Only for the owner. `hash` must be the hash of the key. Keys have 1 … kMaxKeyBytes bytes; other
  // lengths yield kTooLarge, kNotFound or kNotStored. `now_s` is in seconds; an item that expires
  // at or before `now_s` does not exist. Arguments must not refer to this partition's memory unless
  // documented.

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
  /// Returns the item in memory, or null if it does not exist. `likely` must be a result of
  /// PrefetchLikely for this key; the result may be arbitrarily old.
  [[gnu::always_inline]] const Item* GetLikely(const Slot* likely, Bytes key, uint64_t hash,
                                               uint32_t now_s) {
    // A bucket has at most one item per key, so an item with this key is the one to return.
    if (const Slot slot = *likely; slot != 0) [[likely]] {
      const Item* const item = ItemAt(slot);
      if (Holds(*item, key) && !item->IsExpired(now_s) && !IsDue(slot)) [[likely]]
        return item;
    }
    return GetItem(key, hash, now_s);
  }
  /// Like GetLikely, but for a key of 8 bytes, loaded little-endian. Also returns null if the item
  /// exists but is not at `likely`, has a value that is not 8 bytes long, can expire, or is due for
  /// renewal.
  [[gnu::always_inline]] const Item* GetLikelyTiny(const Slot* likely, uint64_t key) const {
    const Slot slot = *likely;
    const Item* const item = ItemAt(slot);
    const bool found = slot != 0 && item->IsTinyForever() && *item->words() == key && !IsDue(slot);
    return found ? item : nullptr;
  }
  /// Stores a value if `condition` holds. With kIfUnchanged, `unique` points to the expected
  /// unique. If `unique` is not null, it receives the new unique. A call that fails does not change
  /// anything.
  Result Set(Bytes key, uint64_t hash, Bytes value, Attributes attributes, Condition condition,
             uint32_t now_s, uint64_t* unique = nullptr) {
    // Inline fast path: the size does not change.
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
  /// Adds `more` after (Append) or before (Prepend) the value; attributes are kept.
  Result Append(Bytes key, uint64_t hash, Bytes more, uint32_t now_s, uint64_t* unique = nullptr) {
    return Extend(key, hash, Bytes(), more, now_s, unique);
  }
  Result Prepend(Bytes key, uint64_t hash, Bytes more, uint32_t now_s, uint64_t* unique = nullptr) {
    return Extend(key, hash, more, Bytes(), now_s, unique);
  }
  /// Overwrites a value that is at least as long as `text` with `text` followed by spaces. Length
  /// and attributes are kept.
  Result SetPadded(Bytes key, uint64_t hash, Bytes text, uint32_t now_s, uint64_t* unique);
  /// Deletes the item. If `unique` is not 0, deletes it only if it has this unique.
  Result Delete(Bytes key, uint64_t hash, uint64_t unique, uint32_t now_s);
  /// Changes only the expiry; the item's `unique` is kept.
  Result Touch(Bytes key, uint64_t hash, uint32_t expires_s, uint32_t now_s);
  /// Removes all items.
  void Clear();
  /// Calls `see(key, view)` for each item that exists at `now_s`, in arbitrary order.
  void ForEach(uint32_t now_s, const std::function<void(Bytes key, const ItemView&)>& see) const;

  /// last_unique returns the unique that was assigned last. SkipUniques makes later uniques greater
  /// than `unique`.
  uint64_t last_unique() const { return last_unique_; }
  void SkipUniques(uint64_t unique) { last_unique_ = std::max(last_unique_, unique); }
  /// Sets an item from a snapshot with the `unique` that it had.
  Result Restore(Bytes key, uint64_t hash, Bytes value, Attributes attributes, uint64_t unique,
                 uint32_t now_s);

  // May be called by any thread:

  /// Returns the first bucket of a key's chain, which never changes.
  Bucket& BucketOf(uint64_t hash) const { return index_.bucket(index_.ChainOf(hash)); }
  /// Copies the value to `to`. Returns kNotFound, or kTooLarge if `to` is too short (value_bytes is
  /// set in this case, too). Never returns a mixture of two values; retries while the owner writes.
  Result Read(Bytes key, uint64_t hash, uint32_t now_s, std::span<uint8_t> to,
              ItemCopy* copy) const;
  /// Returns the number of chains in the index, which is constant. Each item is in exactly one
  /// chain.
  uint32_t chains() const { return index_.heads(); }
  /// Copies the items of a chain, including expired ones, in the format of chain_copy.h. Tries only
  /// once. Unless the result is kChanged, `bytes` receives the size of the copy, or the size that a
  /// complete copy needs. A call from the owner always succeeds if there is room.
  Copied CopyChain(uint32_t chain, std::span<uint8_t> to, size_t* bytes) const;
  /// The two prefetch stages of a lookup (MICA, NSDI'14, section 4.4): first the bucket; some
  /// requests later, when it is in the cache, the items whose tags match.
  void PrefetchBucket(uint64_t hash) const { __builtin_prefetch(&BucketOf(hash)); }
  void PrefetchItem(uint64_t hash) const { PrefetchLikely(BucketOf(hash), hash); }
  /// Prefetches the items of a key whose BucketOf is `head`. Returns the first slot of `head` with
  /// the key's tag, or an empty slot if there is none. The returned slot is the item's if the item
  /// is in the first bucket and no other slot there has the same tag.
  const Slot* PrefetchLikely(const Bucket& head, uint64_t hash) const {
    uint32_t left = head.Matches(TagOf(hash));
    if (left == 0) return &kEmptySlot;
    const Slot* const likely = head.slots + __builtin_ctz(left);
    PrefetchAt(*likely);
    while ((left &= left - 1) != 0) [[unlikely]] PrefetchAt(head.slots[__builtin_ctz(left)]);
    return likely;
  }

  const PartitionCounters& counters() const { return counters_; }
  Mode mode() const { return mode_; }
  /// Returns the number of bytes reserved for index and items.
  uint64_t reserved_bytes() const {
    return index_.bytes() + (log_ ? log_->bytes() : heap_->reserved_bytes());
  }
  /// Returns the length of the longest value that Set can store.
  uint32_t max_value_bytes() const { return max_value_bytes_; }

 private:
  /// Number of bytes of an item to prefetch: header, key and value of a tiny item. An item may
  /// start at any word.
  static constexpr uint64_t kPrefetchedBytes = Item::SizeOf(8, 8);
  static constexpr Slot kEmptySlot = 0;

  void PrefetchAt(const Slot& slot) const {
    const uint8_t* const item = data_ + OffsetOf(LoadWord(slot));
    __builtin_prefetch(item);
    __builtin_prefetch(item + kPrefetchedBytes - 1);
  }

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
    // Keys of one word are common, so compare them inline.
    if (key.size() == 8) [[likely]]
      return LoadWord(*item.words()) == LoadBytes(key.data());
    return HoldsLonger(item, key);
  }
  static bool HoldsLonger(const Item& item, Bytes key);
  /// Cache mode: returns whether the item is in the last quarter of its life.
  bool IsDue(Slot slot) const { return ((log_tail_ - OffsetOf(slot)) & log_mask_) > renewal_age_; }
  /// Only for the owner: returns the slot of the key, or null.
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
  /// Returns the slot of the key. If its item has expired, forgets the item and returns null.
  Slot* FindLive(Bucket& head, uint64_t hash, Bytes key, uint32_t now_s);
  const Item* GetItem(Bytes key, uint64_t hash, uint32_t now_s);
  /// Searches the chain once. Returns false if the owner changed it meanwhile.
  bool TryFind(const Bucket& head, uint32_t version, uint64_t hash, Bytes key, Found* found) const;
  /// Reads the value once. Returns nullopt if the owner changed the chain meanwhile.
  std::optional<Result> TryRead(const Bucket& head, Bytes key, uint64_t hash, uint32_t now_s,
                                std::span<uint8_t> to, ItemCopy* copy) const;

  /// Removes the item of `slot` from the index, counts it as expired or evicted, and frees its
  /// memory.
  void Forget(Bucket& head, Slot& slot, uint32_t now_s);
  /// Removes an item without changing the chain's version and without counting it as expired or
  /// evicted.
  void Remove(Bucket& head, Slot& slot);
  /// Cache mode: moves an item to the newest position of the log.
  Item* Renew(Bucket& head, Slot& slot, uint32_t now_s);
  /// Cache mode: allocates `bytes` in the log. Removes the items to be overwritten from the index,
  /// except the item at `kept`.
  uint64_t AppendToLog(uint64_t bytes, uint64_t kept, uint32_t now_s);
  /// Allocates an item. Returns kNowhere if store mode's heap is full. If `*slot` is not null,
  /// updates it, because removing expired items may move slots.
  uint64_t Allocate(uint64_t bytes, Bucket& head, Slot** slot, uint32_t now_s);
  /// Store mode: removes expired items from some chains.
  void Sweep(uint32_t now_s);
  /// Overwrites an item in place; the new value needs as many words as the old one, or fewer.
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
  /// Stores an item in new memory. Its value is the concatenation of the three parts. Replaces the
  /// item of `slot` if `slot` is not null. The caller must have checked the lengths. Returns false
  /// if memory is exhausted.
  bool Replace(Bucket& head, uint64_t hash, Slot* slot, Bytes key, const Bytes (&parts)[3],
               Attributes attributes, uint64_t unique, uint32_t now_s);
  Result Extend(Bytes key, uint64_t hash, Bytes front, Bytes back, uint32_t now_s,
                uint64_t* unique);
  Result Refuse(Result why);

  static constexpr uint64_t kNowhere = ~uint64_t{0};

  Mode mode_;
  uint32_t max_value_bytes_ = 0;
  uint64_t renewal_age_ = 0;
  uint64_t log_tail_ = 0;    ///< Cache mode: CircularLog::tail.
  uint64_t log_mask_ = 0;    ///< Log size minus 1; 0 in store mode, so that no item is due.
  uint8_t* data_ = nullptr;  ///< Memory of log or heap.
  Index index_;
  std::optional<CircularLog> log_;
  std::optional<SegregatedFit> heap_;
  uint64_t last_unique_ = 0;
  uint32_t sweep_at_ = 0;  ///< Next chain for Sweep.
  PartitionCounters counters_;
};

}  // namespace sluice::engine::kv
