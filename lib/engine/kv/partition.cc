// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/partition.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>

#include "cpu/clock.h"
#include "engine/kv/chain_copy.h"

namespace sluice::engine::kv {
namespace {

/// Number of chains that a failed allocation searches for expired items.
constexpr uint32_t kSweptChains = 1024;
constexpr uint32_t kMinChains = 16;

/// Returns the number of chains, for four items per chain. If the hash is uniform, 2% of the items
/// exceed the seven slots of their chain's first bucket.
uint32_t ChainsOf(const PartitionOptions& options) {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>((options.items + 3) / 4, kMinChains, uint64_t{1} << 31));
}

/// Returns the largest number of extra buckets that items can need: every bucket of a chain except
/// the last contains seven items.
uint32_t ExtraBucketsOf(const PartitionOptions& options) {
  if (options.mode == Mode::kCache) return 0;
  const uint64_t items = options.memory_bytes / kMinItemBytes;
  return static_cast<uint32_t>(std::min<uint64_t>(items / Bucket::kSlots + 1, uint64_t{1} << 31) -
                               1);
}

}  // namespace

uint64_t PartitionOptions::RoundedMemoryBytes() const {
  return mode == Mode::kCache ? std::bit_ceil(std::max(memory_bytes, CircularLog::kMinBytes))
                              : memory_bytes;
}

uint64_t PartitionOptions::OccupiedBytes() const {
  return RoundedMemoryBytes() + uint64_t{ChainsOf(*this)} * sizeof(Bucket);
}

Partition::Partition(const PartitionOptions& options)
    : mode_(options.mode), index_(ChainsOf(options), ExtraBucketsOf(options)) {
  if (mode_ == Mode::kCache) {
    log_.emplace(options.memory_bytes);
    data_ = log_->data();
    max_value_bytes_ =
        static_cast<uint32_t>((log_->max_item_bytes() - Item::SizeOf(kMaxKeyBytes, 0)) / 8 * 8);
    max_value_bytes_ = std::min(max_value_bytes_, Item::kMaxValueBytes);
    renewal_age_ = log_->bytes() - log_->bytes() / 4;
    log_mask_ = log_->bytes() - 1;
  } else {
    heap_.emplace(options.memory_bytes);
    data_ = heap_->data();
    max_value_bytes_ = kMaxStoreValueBytes;
  }
}

void Partition::PopulatePages() {
  index_.PopulatePages();
  if (log_) {
    log_->PopulatePages();
  } else {
    heap_->PopulatePages();
  }
}

Result Partition::Refuse(Result why) {
  Increase(counters_.refused, uint64_t{1});
  return why;
}

Slot* Partition::FindLive(Bucket& head, uint64_t hash, Bytes key, uint32_t now_s) {
  if (!IsKey(key)) return nullptr;
  Slot* const slot = Find(head, hash, key);
  if (slot == nullptr || !ItemAt(*slot)->IsExpired(now_s)) return slot;
  Forget(head, *slot, now_s);
  return nullptr;
}

bool Partition::HoldsLonger(const Item& item, Bytes key) { return EqualWords(item.words(), key); }

const Item* Partition::GetItem(Bytes key, uint64_t hash, uint32_t now_s) {
  Bucket& head = BucketOf(hash);
  Slot* const slot = FindLive(head, hash, key, now_s);
  if (slot == nullptr) return nullptr;
  return IsDue(*slot) ? Renew(head, *slot, now_s) : ItemAt(*slot);
}

void Partition::Remove(Bucket& head, Slot& slot) {
  const uint64_t offset = OffsetOf(slot);
  Increase(counters_.items, ~uint64_t{0});
  Increase(counters_.item_bytes, -ItemAt(slot)->size());
  if (mode_ == Mode::kCache) {
    StoreWord(slot, Slot{0});
    return;
  }
  index_.Remove(head, slot);
  StoreWord(counters_.extra_buckets, index_.extra_in_use());
  heap_->Free(offset);
}

void Partition::Forget(Bucket& head, Slot& slot, uint32_t now_s) {
  const bool expired = ItemAt(slot)->IsExpired(now_s);
  Increase(expired ? counters_.expired : counters_.evicted, uint64_t{1});
  const Change change(head);
  Remove(head, slot);
}

uint64_t Partition::AppendToLog(uint64_t bytes, uint64_t kept, uint32_t now_s) {
  const uint64_t offset = log_->Append(bytes, [&](uint64_t dropped, const Item& item) {
    if (dropped == kept) return;
    Bucket& head = index_.bucket(item.place);
    for (Slot& slot : head.slots) {
      if (slot == 0 || OffsetOf(slot) != dropped) continue;
      Forget(head, slot, now_s);
      return;
    }
  });
  log_tail_ = log_->tail();
  if (const Item* const next = log_->NextToDrop()) {
    __builtin_prefetch(&index_.bucket(next->place));
  }
  return offset;
}

Item* Partition::Renew(Bucket& head, Slot& slot, uint32_t now_s) {
  const uint64_t old = OffsetOf(slot);
  const uint64_t bytes = ItemAt(slot)->size();
  const uint64_t offset = AppendToLog(bytes, old, now_s);
  const Change change(head);
  // The new position may overlap the old one and is then at a lower address, so copy in ascending
  // order.
  const auto* const from = reinterpret_cast<const uint64_t*>(data_ + old);
  auto* const to = reinterpret_cast<uint64_t*>(data_ + offset);
  for (uint64_t i = 0; i < bytes / 8; ++i) StoreWord(to[i], LoadWord(from[i]));
  StoreWord(slot, MakeSlot(slot >> 48, offset));
  return ItemAt(slot);
}

void Partition::Sweep(uint32_t now_s) {
  for (uint32_t i = 0; i < std::min(kSweptChains, index_.heads()); ++i) {
    Bucket& head = index_.bucket(sweep_at_);
    sweep_at_ = sweep_at_ + 1 == index_.heads() ? 0 : sweep_at_ + 1;
    // Forget moves the last slot of the chain into the freed one, so restart at the head.
    for (Bucket* bucket = &head; bucket != nullptr;) {
      int at = 0;
      while (at < Bucket::kSlots &&
             (bucket->slots[at] == 0 || !ItemAt(bucket->slots[at])->IsExpired(now_s))) {
        ++at;
      }
      if (at == Bucket::kSlots) {
        bucket = index_.Next(*bucket);
      } else {
        Forget(head, bucket->slots[at], now_s);
        bucket = &head;
      }
    }
  }
}

uint64_t Partition::Allocate(uint64_t bytes, Bucket& head, Slot** slot, uint32_t now_s) {
  const uint64_t old = *slot == nullptr ? kNowhere : OffsetOf(**slot);
  if (mode_ == Mode::kCache) return AppendToLog(bytes, old, now_s);
  if (const auto offset = heap_->Allocate(bytes)) return *offset;
  Sweep(now_s);
  if (*slot != nullptr) {
    for (Bucket* bucket = &head; bucket != nullptr; bucket = index_.Next(*bucket)) {
      for (Slot& other : bucket->slots) {
        if (other != 0 && OffsetOf(other) == old) *slot = &other;
      }
    }
  }
  return heap_->Allocate(bytes).value_or(kNowhere);
}

bool Partition::Replace(Bucket& head, uint64_t hash, Slot* slot, Bytes key, const Bytes (&parts)[3],
                        Attributes attributes, uint64_t unique, uint32_t now_s) {
  const uint64_t value_bytes = parts[0].size() + parts[1].size() + parts[2].size();
  const uint64_t bytes = Item::SizeOf(key.size(), value_bytes);
  const uint64_t offset = Allocate(bytes, head, &slot, now_s);
  if (offset == kNowhere) return false;
  const Slot fresh = MakeSlot(TagOf(hash), offset);

  // The new item in the log may overwrite the old one, so read its size first.
  if (slot != nullptr) Increase(counters_.item_bytes, -ItemAt(*slot)->size());
  const Change change(head);
  Item& item = *ItemAt(fresh);
  if (mode_ == Mode::kCache) StoreWord(item.place, index_.ChainOf(hash));
  StoreWord(item.lengths, Item::Lengths(key.size(), value_bytes));
  StoreWord(item.flags, attributes.flags);
  StoreWord(item.expires_s, attributes.expires_s);
  StoreWord(item.unique, unique);
  WordWriter writer(item.words());
  writer.Write(key);
  writer.Finish();
  for (const Bytes part : parts) writer.Write(part);
  writer.Finish();

  Increase(counters_.item_bytes, bytes);
  if (slot != nullptr) {
    const uint64_t old = OffsetOf(*slot);
    StoreWord(*slot, fresh);
    if (mode_ == Mode::kStore) heap_->Free(old);
    return true;
  }
  Increase(counters_.items, uint64_t{1});
  if (mode_ == Mode::kStore) {
    index_.Add(head, fresh);  // Cannot fail: there are as many buckets as items can need.
    StoreWord(counters_.extra_buckets, index_.extra_in_use());
    return true;
  }
  Slot* oldest = &head.slots[0];
  for (Slot& other : head.slots) {
    if (other == 0) {
      StoreWord(other, fresh);
      return true;
    }
    if (log_->Age(OffsetOf(other)) > log_->Age(OffsetOf(*oldest))) oldest = &other;
  }
  const bool expired = ItemAt(*oldest)->IsExpired(now_s);
  Increase(expired ? counters_.expired : counters_.evicted, uint64_t{1});
  Remove(head, *oldest);
  StoreWord(*oldest, fresh);
  return true;
}

Result Partition::Put(Bytes key, uint64_t hash, Bytes value, Attributes attributes,
                      Condition condition, uint64_t expected, uint64_t unique, uint32_t now_s) {
  if (!IsKey(key) || value.size() > max_value_bytes_) return Refuse(Result::kTooLarge);
  Bucket& head = index_.bucket(index_.ChainOf(hash));
  Slot* const slot = FindLive(head, hash, key, now_s);
  if (condition != Condition::kAlways) {
    if (condition == Condition::kIfAbsent) {
      if (slot != nullptr) return Result::kExists;
    } else if (slot == nullptr) {
      return condition == Condition::kIfPresent ? Result::kNotStored : Result::kNotFound;
    } else if (condition == Condition::kIfUnchanged && ItemAt(*slot)->unique != expected) {
      return Result::kExists;
    }
  }
  const uint64_t bytes = Item::SizeOf(key.size(), value.size());
  const bool same_size = slot != nullptr && ItemAt(*slot)->size() == bytes;
  if (!same_size) {
    const Bytes parts[3] = {value, Bytes(), Bytes()};
    if (Replace(head, hash, slot, key, parts, attributes, unique, now_s)) return Result::kOk;
  }
  // Overwrites in place if the size is equal, or if the heap is full and the new item is shorter.
  Slot* const there = same_size ? slot : FindLive(head, hash, key, now_s);
  if (there == nullptr || ItemAt(*there)->size() < bytes) return Refuse(Result::kNoMemory);
  Item& item = *ItemAt(*there);
  Increase(counters_.item_bytes, bytes - item.size());
  Overwrite(head, item, key.size(), value, attributes, unique);
  if (!same_size) heap_->Shrink(OffsetOf(*there), bytes);
  return Result::kOk;
}

Result Partition::SetAnyhow(Bytes key, uint64_t hash, Bytes value, Attributes attributes,
                            Condition condition, uint32_t now_s, uint64_t* unique) {
  const uint64_t expected = unique == nullptr ? 0 : *unique;
  const Result result =
      Put(key, hash, value, attributes, condition, expected, last_unique_ + 1, now_s);
  if (result != Result::kOk) return result;
  ++last_unique_;
  if (unique != nullptr) *unique = last_unique_;
  return result;
}

Result Partition::Restore(Bytes key, uint64_t hash, Bytes value, Attributes attributes,
                          uint64_t unique, uint32_t now_s) {
  SkipUniques(unique);
  return Put(key, hash, value, attributes, Condition::kAlways, 0, unique, now_s);
}

Result Partition::Extend(Bytes key, uint64_t hash, Bytes front, Bytes back, uint32_t now_s,
                         uint64_t* unique) {
  Bucket& head = index_.bucket(index_.ChainOf(hash));
  Slot* const slot = FindLive(head, hash, key, now_s);
  if (slot == nullptr) return Result::kNotStored;
  Item* item = ItemAt(*slot);
  const size_t old_bytes = item->value().size();
  const size_t more = front.size() + back.size();
  if (more > max_value_bytes_ - old_bytes) return Refuse(Result::kTooLarge);
  const uint64_t bytes = Item::SizeOf(key.size(), old_bytes + more);
  if (front.empty() && bytes == item->size()) {
    uint8_t last[8];
    const Bytes rest = item->value().subspan(old_bytes / 8 * 8);
    std::copy(rest.begin(), rest.end(), last);
    const Change change(head);
    WordWriter writer(item->value_words() + old_bytes / 8);
    writer.Write(Bytes(last, rest.size()));
    writer.Write(back);
    writer.Finish();
    StoreWord(item->lengths, Item::Lengths(key.size(), old_bytes + more));
    StoreWord(item->unique, last_unique_ + 1);
  } else {
    // The old value is read while the new one is written, so the two must not overlap.
    if (mode_ == Mode::kCache && log_->WouldDrop(OffsetOf(*slot), bytes)) {
      item = Renew(head, *slot, now_s);
    }
    const Bytes parts[3] = {front, item->value(), back};
    const Attributes attributes{item->flags, item->expires_s};
    if (!Replace(head, hash, slot, key, parts, attributes, last_unique_ + 1, now_s)) {
      return Refuse(Result::kNoMemory);
    }
  }
  ++last_unique_;
  if (unique != nullptr) *unique = last_unique_;
  return Result::kOk;
}

Result Partition::SetPadded(Bytes key, uint64_t hash, Bytes text, uint32_t now_s,
                            uint64_t* unique) {
  static constexpr auto kSpaces = [] {
    std::array<uint8_t, 64> spaces{};
    spaces.fill(' ');
    return spaces;
  }();
  Bucket& head = index_.bucket(index_.ChainOf(hash));
  Slot* const slot = FindLive(head, hash, key, now_s);
  if (slot == nullptr) return Result::kNotFound;
  Item& item = *ItemAt(*slot);
  const size_t bytes = item.value().size();
  if (text.size() > bytes) return Result::kTooLarge;
  const Change change(head);
  StoreWord(item.unique, ++last_unique_);
  WordWriter writer(item.value_words());
  writer.Write(text);
  for (size_t left = bytes - text.size(); left > 0;) {
    const size_t part = std::min(left, kSpaces.size());
    writer.Write(Bytes(kSpaces).first(part));
    left -= part;
  }
  writer.Finish();
  if (unique != nullptr) *unique = last_unique_;
  return Result::kOk;
}

Result Partition::Delete(Bytes key, uint64_t hash, uint64_t unique, uint32_t now_s) {
  Bucket& head = index_.bucket(index_.ChainOf(hash));
  Slot* const slot = FindLive(head, hash, key, now_s);
  if (slot == nullptr) return Result::kNotFound;
  if (unique != 0 && ItemAt(*slot)->unique != unique) return Result::kExists;
  const Change change(head);
  Remove(head, *slot);
  return Result::kOk;
}

Result Partition::Touch(Bytes key, uint64_t hash, uint32_t expires_s, uint32_t now_s) {
  Bucket& head = index_.bucket(index_.ChainOf(hash));
  Slot* const slot = FindLive(head, hash, key, now_s);
  if (slot == nullptr) return Result::kNotFound;
  StoreWord(ItemAt(*slot)->expires_s, expires_s);
  return Result::kOk;
}

void Partition::Clear() {
  for (uint32_t chain = 0; chain < index_.heads(); ++chain) {
    Bucket& head = index_.bucket(chain);
    while (head.slots[0] != 0 || head.next != 0) {
      const Change change(head);
      Remove(head, head.slots[0]);
    }
    for (Slot& slot : head.slots) {
      if (slot == 0) continue;
      const Change change(head);
      Remove(head, slot);
    }
  }
  if (log_) log_->Clear();
}

void Partition::ForEach(uint32_t now_s,
                        const std::function<void(Bytes key, const ItemView&)>& see) const {
  for (uint32_t chain = 0; chain < index_.heads(); ++chain) {
    for (const Bucket* bucket = &index_.bucket(chain); bucket != nullptr;
         bucket = index_.Next(*bucket)) {
      for (const Slot slot : bucket->slots) {
        if (slot == 0 || ItemAt(slot)->IsExpired(now_s)) continue;
        see(ItemAt(slot)->key(), ViewOf(*ItemAt(slot)));
      }
    }
  }
}

// Functions that any thread may call while the owner writes to the partition.

bool Partition::TryFind(const Bucket& head, uint32_t version, uint64_t hash, Bytes key,
                        Found* found) const {
  const auto unchanged = [&] {
    std::atomic_thread_fence(std::memory_order_acquire);
    return LoadWord(head.version) == version;
  };
  const uint64_t tag = TagOf(hash);
  for (const Bucket* bucket = &head;;) {
    for (const Slot& place : bucket->slots) {
      const Slot slot = LoadWord(place);
      if (slot >> 48 != tag) continue;
      const Item& item = *ItemAt(slot);
      const uint32_t lengths = LoadWord(item.lengths);
      if (Item::KeyBytes(lengths) != key.size() || !EqualWords(item.words(), key)) continue;
      *found = {&item, lengths};
      return unchanged();
    }
    const uint32_t next = LoadWord(bucket->next);
    if (!unchanged()) return false;
    if (next == 0) return true;
    bucket = &index_.bucket(next);
  }
}

std::optional<Result> Partition::TryRead(const Bucket& head, Bytes key, uint64_t hash,
                                         uint32_t now_s, std::span<uint8_t> to,
                                         ItemCopy* copy) const {
  const uint32_t version =
      std::atomic_ref(const_cast<uint32_t&>(head.version)).load(std::memory_order_acquire);
  if (version & 1) return std::nullopt;
  Found found{};
  if (!TryFind(head, version, hash, key, &found)) return std::nullopt;
  if (found.item == nullptr) return Result::kNotFound;
  const Item& item = *found.item;
  // The version was unchanged after the lengths were read, so the copy stays within the memory.
  const uint32_t value_bytes = Item::ValueBytes(found.lengths);
  const uint32_t expires_s = LoadWord(item.expires_s);
  *copy = {value_bytes, {LoadWord(item.flags), expires_s}, LoadWord(item.unique)};
  const bool fits = value_bytes <= to.size();
  if (fits) {
    CopyFromWords(to.data(), item.words() + RoundUp8(key.size()) / 8, value_bytes);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  if (LoadWord(head.version) != version) return std::nullopt;
  if (expires_s != 0 && expires_s <= now_s) return Result::kNotFound;
  return fits ? Result::kOk : Result::kTooLarge;
}

Result Partition::Read(Bytes key, uint64_t hash, uint32_t now_s, std::span<uint8_t> to,
                       ItemCopy* copy) const {
  if (!IsKey(key)) return Result::kNotFound;
  const Bucket& head = index_.bucket(index_.ChainOf(hash));
  for (;;) {
    if (const auto result = TryRead(head, key, hash, now_s, to, copy)) return *result;
    cpu::Pause();
  }
}

Copied Partition::CopyChain(uint32_t chain, std::span<uint8_t> to, size_t* bytes) const {
  const Bucket& head = index_.bucket(chain);
  const uint32_t version =
      std::atomic_ref(const_cast<uint32_t&>(head.version)).load(std::memory_order_acquire);
  if (version & 1) return Copied::kChanged;
  const auto unchanged = [&] {
    std::atomic_thread_fence(std::memory_order_acquire);
    return LoadWord(head.version) == version;
  };
  size_t used = 0;
  for (const Bucket* bucket = &head;;) {
    for (const Slot& place : bucket->slots) {
      const Slot slot = LoadWord(place);
      if (slot == 0) continue;
      const Item& item = *ItemAt(slot);
      const uint32_t lengths = LoadWord(item.lengths);
      // After this check the lengths are valid, so the copy stays within the memory.
      if (!unchanged()) return Copied::kChanged;
      const uint64_t size = CopiedItem::SizeOf(lengths);
      if (used + size <= to.size()) {
        const uint32_t key_bytes = Item::KeyBytes(lengths);
        const CopiedItem copied{lengths, LoadWord(item.flags), LoadWord(item.expires_s), 0,
                                LoadWord(item.unique)};
        uint8_t* const at = to.data() + used;
        std::memcpy(at, &copied, sizeof copied);
        CopyFromWords(at + sizeof copied, item.words(), key_bytes);
        CopyFromWords(at + sizeof copied + key_bytes, item.words() + RoundUp8(key_bytes) / 8,
                      Item::ValueBytes(lengths));
      }
      used += size;
    }
    const uint32_t next = LoadWord(bucket->next);
    if (!unchanged()) return Copied::kChanged;
    if (next == 0) break;
    bucket = &index_.bucket(next);
  }
  *bytes = used;
  return used <= to.size() ? Copied::kWhole : Copied::kTooShort;
}

}  // namespace sluice::engine::kv
