// SPDX-License-Identifier: BSD-3-Clause
//
// An item in memory: a header of 24 bytes, the key and the value. Key and value are each padded
// with zeros to a multiple of 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/kv/word.h"

namespace sluice::engine::kv {

inline constexpr uint32_t kMaxKeyBytes = 250;             ///< memcached's limit; the minimum is 1.
inline constexpr uint32_t kMaxStoreValueBytes = 1 << 20;  ///< Limit in store mode.

struct Item {
  /// Used by the allocator. CircularLog: the bucket that may refer to the item; SegregatedFit: the
  /// head of the block.
  uint32_t place;
  uint32_t flags;
  uint32_t lengths;    ///< Value bytes << 8 | key bytes.
  uint32_t expires_s;  ///< 0: never.
  uint64_t unique;

  static constexpr uint32_t kMaxValueBytes = (1 << 24) - 1;
  static constexpr uint32_t Lengths(uint64_t key_bytes, uint64_t value_bytes) {
    return static_cast<uint32_t>(value_bytes << 8 | key_bytes);
  }
  static constexpr uint32_t KeyBytes(uint32_t lengths) { return lengths & 0xff; }
  static constexpr uint32_t ValueBytes(uint32_t lengths) { return lengths >> 8; }
  /// Returns the size in memory, including header and padding.
  static constexpr uint64_t SizeOf(uint64_t key_bytes, uint64_t value_bytes) {
    return sizeof(Item) + RoundUp8(key_bytes) + RoundUp8(value_bytes);
  }

  const uint64_t* words() const { return reinterpret_cast<const uint64_t*>(this + 1); }
  uint64_t* words() { return reinterpret_cast<uint64_t*>(this + 1); }

  // Only for the thread that writes.
  uint64_t size() const { return SizeOf(KeyBytes(lengths), ValueBytes(lengths)); }
  Bytes key() const { return {reinterpret_cast<const uint8_t*>(words()), KeyBytes(lengths)}; }
  Bytes value() const {
    return {reinterpret_cast<const uint8_t*>(words()) + RoundUp8(KeyBytes(lengths)),
            ValueBytes(lengths)};
  }
  uint64_t* value_words() { return words() + RoundUp8(KeyBytes(lengths)) / 8; }
  bool IsExpired(uint32_t now_s) const { return expires_s != 0 && expires_s <= now_s; }
  /// Returns whether the key and the value are 8 bytes each and the item cannot expire. Needs only
  /// one comparison.
  bool IsTinyForever() const {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(this);
    return LoadBytes(bytes + offsetof(Item, lengths)) == Lengths(8, 8);
  }
};
static_assert(sizeof(Item) == 24 && offsetof(Item, expires_s) == offsetof(Item, lengths) + 4);

inline constexpr uint64_t kMinItemBytes = Item::SizeOf(1, 0);

}  // namespace sluice::engine::kv
