// SPDX-License-Identifier: BSD-3-Clause
//
// How a reader tells a whole line from a torn one where lines may tear: the writer keeps
// a CRC32C (Castagnoli; RFC 3720 section 12.1) of the first 60 bytes in the last 4.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE4_2__
#include <immintrin.h>
#endif

#include "bar/window.h"

namespace sluice::bar {

inline constexpr std::array<uint32_t, 256> kCrc32cTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f6'3b78u : 0);
    table[i] = crc;
  }
  return table;
}();

/// CRC32C by table, for every processor.
inline uint32_t Crc32cByTable(const void* data, size_t bytes) {
  uint32_t crc = ~0u;
  const auto* at = static_cast<const uint8_t*>(data);
  for (; bytes != 0; --bytes) crc = crc >> 8 ^ kCrc32cTable[(crc ^ *at++) & 0xff];
  return ~crc;
}

/// The same, by the instruction where it is compiled in.
inline uint32_t Crc32c(const void* data, size_t bytes) {
#ifdef __SSE4_2__
  uint64_t crc = 0xffff'ffff;
  const auto* at = static_cast<const uint8_t*>(data);
  for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    crc = _mm_crc32_u64(crc, word);
  }
  auto rest = static_cast<uint32_t>(crc);
  for (; bytes != 0; --bytes) rest = _mm_crc32_u8(rest, *at++);
  return ~rest;
#else
  return Crc32cByTable(data, bytes);
#endif
}

/// The upper half of word 7 of a whole line.
inline uint32_t LineCrc(const Line& line) {
  static_assert(std::endian::native == std::endian::little);
  return Crc32c(line.word.data(), kLineBytes - sizeof(uint32_t));
}

/// The line with its CRC, ready to be written where it may tear.
inline Line SealLine(const Line& line) {
  Line sealed = line;
  sealed.word[7] = (line.word[7] & 0xffff'ffff) | uint64_t{LineCrc(line)} << 32;
  return sealed;
}

/// Whether a line is one that SealLine() made, or was never written (all zeroes). The CRC
/// is taken off a line that is.
inline bool UnsealLine(Line& line) {
  const bool whole = line.word[7] >> 32 == LineCrc(line) || line == Line{};
  line.word[7] &= 0xffff'ffff;
  return whole;
}

}  // namespace sluice::bar
