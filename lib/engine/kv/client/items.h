// SPDX-License-Identifier: BSD-3-Clause
//
// Keys and values of a workload. A key is a function of the item number, and a value is a function
// of the item number and the version, so that a client can check whether a value was set before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "engine/kv/hash.h"
#include "engine/workload/random.h"
#include "packet/bytes.h"

namespace sluice::engine::kv::client {

using workload::Mix;

inline constexpr uint32_t kMinWorkloadValueBytes = 8;  ///< Version and checksum.

struct ItemSizes {
  uint32_t key_bytes = 8;    ///< 1 … 250.
  uint32_t value_bytes = 8;  ///< Minimum: kMinWorkloadValueBytes.

  /// Returns the number of different keys of this length: 64^key_bytes, at most 2^48.
  uint64_t MaxItems() const { return uint64_t{1} << 6 * std::min(key_bytes, 8u); }
};

/// Returns eight characters from ';' to 'z', one for each six bits of `digits`.
constexpr uint64_t KeyCharacters(uint64_t digits) {
  digits = (digits & 0xffffff) | (digits & 0xffffff000000) << 8;
  digits = (digits & 0xfff00000fff) | (digits & 0xfff00000fff000) << 4;
  digits = (digits & 0x3f003f003f003f) | (digits & 0xfc00fc00fc00fc0) << 2;
  return digits + 0x3b3b3b3b3b3b3b3b;
}

/// Writes the key of `item`, which is below sizes.MaxItems(), in characters that every protocol
/// allows. Different items have different keys.
inline void MakeKey(uint64_t item, const ItemSizes& sizes, uint8_t* to) {
  // Multiplication by an odd factor permutes the numbers modulo a power of two.
  uint64_t digits = item * 0x9e3779b97f4a7c15 & (sizes.MaxItems() - 1);
  for (uint32_t at = 0; at < sizes.key_bytes; at += 8) {
    const uint64_t characters = KeyCharacters(digits);
    std::memcpy(to + at, &characters, std::min(8u, sizes.key_bytes - at));
    digits = Mix(item + at);
  }
}

namespace value_internal {

inline uint64_t Seed(uint64_t item, uint32_t version) { return Mix(Mix(item) + version); }
inline uint64_t FirstWord(uint64_t item, uint32_t version) {
  return (Seed(item, version) & ~uint64_t{0xffffffff}) | version;
}
inline uint64_t Word(uint64_t seed, uint64_t i) { return Mix(seed + i); }

}  // namespace value_internal

/// Writes the value of `item` in `version`: the version, a 32-bit checksum of item and version, and
/// pseudo-random words derived from both.
inline void MakeValue(uint64_t item, uint32_t version, std::span<uint8_t> to) {
  using namespace value_internal;
  const uint64_t seed = Seed(item, version);
  packet::Store(to.data(), FirstWord(item, version));
  for (size_t at = 8; at < to.size(); at += 8) {
    const uint64_t word = Word(seed, at);
    std::memcpy(to.data() + at, &word, std::min<size_t>(8, to.size() - at));
  }
}

/// Returns the version of `value`, or nullopt if `value` is not a complete value of this item with
/// `value_bytes` bytes.
inline std::optional<uint32_t> VersionOf(uint64_t item, uint32_t value_bytes, Bytes value) {
  using namespace value_internal;
  if (value.size() != value_bytes || value_bytes < kMinWorkloadValueBytes) return std::nullopt;
  const auto first = packet::Load<uint64_t>(value.data());
  const auto version = static_cast<uint32_t>(first);
  if (first != FirstWord(item, version)) return std::nullopt;
  const uint64_t seed = Seed(item, version);
  for (size_t at = 8; at < value.size(); at += 8) {
    const uint64_t word = Word(seed, at);
    if (std::memcmp(value.data() + at, &word, std::min<size_t>(8, value.size() - at)) != 0) {
      return std::nullopt;
    }
  }
  return version;
}

}  // namespace sluice::engine::kv::client
