// SPDX-License-Identifier: BSD-3-Clause
//
// Functions that any thread may call while the owner writes to the partition.
#include <atomic>

#include "cpu/clock.h"
#include "engine/kv/chain_copy.h"
#include "engine/kv/partition.h"

namespace sluice::engine::kv {

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
