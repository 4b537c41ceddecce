// SPDX-License-Identifier: BSD-3-Clause
//
// CRC32C (Castagnoli; RFC 3720 section 12.1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE4_2__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace sluice::cpu {

inline constexpr std::array<uint32_t, 256> kCrc32cTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f6'3b78u : 0);
    table[i] = crc;
  }
  return table;
}();

/// Computes CRC32C with a table; works on every processor.
inline uint32_t Crc32cByTable(const void* data, size_t bytes) {
  uint32_t crc = ~0u;
  const auto* at = static_cast<const uint8_t*>(data);
  for (; bytes != 0; --bytes) crc = crc >> 8 ^ kCrc32cTable[(crc ^ *at++) & 0xff];
  return ~crc;
}

/// Computes CRC32C with the processor's instruction if it is compiled in, otherwise with a table.
inline uint32_t Crc32c(const void* data, size_t bytes) {
#if defined(__SSE4_2__)
  const auto word_step = [](uint64_t crc, uint64_t word) { return _mm_crc32_u64(crc, word); };
  const auto byte_step = [](uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); };
#elif defined(__ARM_FEATURE_CRC32)
  const auto word_step = [](uint64_t crc, uint64_t word) -> uint64_t {
    return __crc32cd(static_cast<uint32_t>(crc), word);
  };
  const auto byte_step = [](uint32_t crc, uint8_t byte) { return __crc32cb(crc, byte); };
#endif
#if defined(__SSE4_2__) || defined(__ARM_FEATURE_CRC32)
  uint64_t crc = 0xffff'ffff;
  const auto* at = static_cast<const uint8_t*>(data);
  for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    crc = word_step(crc, word);
  }
  auto rest = static_cast<uint32_t>(crc);
  for (; bytes != 0; --bytes) rest = byte_step(rest, *at++);
  return ~rest;
#else
  return Crc32cByTable(data, bytes);
#endif
}

}  // namespace sluice::cpu
