// SPDX-License-Identifier: BSD-3-Clause
//
// Unaligned loads and stores of frame bytes. `…Be` converts between network and host byte order.
// The plain forms do not convert, which is sufficient for values that are only moved, compared or
// summed.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace sluice::packet {

static_assert(std::endian::native == std::endian::little,
              "this file assumes a little-endian processor");

template <typename T>
inline T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

template <typename T>
inline void Store(uint8_t* bytes, T value) {
  std::memcpy(bytes, &value, sizeof(value));
}

inline uint16_t LoadBe16(const uint8_t* bytes) { return __builtin_bswap16(Load<uint16_t>(bytes)); }
inline uint32_t LoadBe32(const uint8_t* bytes) { return __builtin_bswap32(Load<uint32_t>(bytes)); }
inline uint64_t LoadBe64(const uint8_t* bytes) { return __builtin_bswap64(Load<uint64_t>(bytes)); }
inline void StoreBe16(uint8_t* bytes, uint16_t value) { Store(bytes, __builtin_bswap16(value)); }
inline void StoreBe32(uint8_t* bytes, uint32_t value) { Store(bytes, __builtin_bswap32(value)); }

}  // namespace sluice::packet
