// SPDX-License-Identifier: BSD-3-Clause
//
// The model's DMA engine for one segment: copies of packet size, inlined, with
// overlapping fixed-size blocks instead of a byte tail.
#pragma once

#include <cstdint>
#include <cstring>

namespace sluice::device::ipu {

/// Copies exactly `bytes` bytes; the ranges do not overlap.
inline void CopySegment(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  constexpr uint32_t kBlock = 32;
  if (bytes < kBlock) {
    std::memcpy(to, from, bytes);
    return;
  }
  if (bytes > 1024) {
    std::memcpy(to, from, bytes);
    return;
  }
  uint32_t at = 0;
  do {
    std::memcpy(to + at, from + at, kBlock);
    at += kBlock;
  } while (at + kBlock <= bytes);
  std::memcpy(to + bytes - kBlock, from + bytes - kBlock, kBlock);
}

}  // namespace sluice::device::ipu
