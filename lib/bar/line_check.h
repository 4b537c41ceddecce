// SPDX-License-Identifier: BSD-3-Clause
//
// Detects torn lines in windows whose lines can tear: the writer stores a CRC32C of the first 60
// bytes in the last 4.
#pragma once

#include <bit>
#include <cstdint>

#include "bar/window.h"
#include "cpu/crc32c.h"

namespace sluice::bar {

/// Returns the CRC that the upper half of word 7 of an intact line contains.
inline uint32_t LineCrc(const Line& line) {
  static_assert(std::endian::native == std::endian::little);
  return cpu::Crc32c(line.word.data(), kLineBytes - sizeof(uint32_t));
}

/// Returns a copy of the line with its CRC in the upper half of word 7.
inline Line SealLine(const Line& line) {
  Line sealed = line;
  sealed.word[7] = (line.word[7] & 0xffff'ffff) | uint64_t{LineCrc(line)} << 32;
  return sealed;
}

/// Returns whether the line was sealed by SealLine() or was never written (all zeroes). Removes the
/// CRC from the line.
inline bool UnsealLine(Line& line) {
  const bool whole = line.word[7] >> 32 == LineCrc(line) || line == Line{};
  line.word[7] &= 0xffff'ffff;
  return whole;
}

}  // namespace sluice::bar
