// SPDX-License-Identifier: BSD-3-Clause
//
// The model's DMA engine for one segment: copies of packet size, inlined, with
// overlapping fixed-size blocks instead of a byte tail.
#pragma once

#include <cstdint>
#include <cstring>

namespace sluice::device::ipu {

/// One 32-byte move at any alignment.
using CopyBlock = uint8_t __attribute__((vector_size(32), aligned(1), may_alias));

/// Copies exactly `bytes` bytes; the ranges do not overlap.
inline void CopySegment(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  constexpr uint32_t kBlock = sizeof(CopyBlock);
  constexpr uint32_t kInline = 1024;
  const auto block = [&](uint32_t at) {
    *reinterpret_cast<CopyBlock*>(to + at) = *reinterpret_cast<const CopyBlock*>(from + at);
  };
  if (bytes - kBlock > kInline - kBlock) [[unlikely]] {
    std::memcpy(to, from, bytes);
    return;
  }
  block(0);
  for (uint32_t at = kBlock; at + kBlock < bytes; at += kBlock) block(at);
  block(bytes - kBlock);
}

}  // namespace sluice::device::ipu
