// SPDX-License-Identifier: BSD-3-Clause
//
// How a reader tells a whole line from a torn one where lines may tear: the writer keeps
// a CRC32C of the first 60 bytes in the last 4.
#pragma once

#include <bit>
#include <cstdint>

#include "bar/window.h"
#include "cpu/crc32c.h"

namespace sluice::bar {

/// The upper half of word 7 of a whole line.
inline uint32_t LineCrc(const Line& line) {
  static_assert(std::endian::native == std::endian::little);
  return cpu::Crc32c(line.word.data(), kLineBytes - sizeof(uint32_t));
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
