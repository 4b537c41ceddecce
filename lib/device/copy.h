// SPDX-License-Identifier: BSD-3-Clause
//
// Copies packet-sized blocks of memory for models of DMA engines and cables. The functions are
// inlined and copy overlapping fixed-size blocks instead of looping over the last bytes.
#pragma once

#include <cstdint>
#include <cstring>

#include "device/block.h"

namespace sluice::device {

/// Copies exactly `bytes` bytes. The ranges must not overlap.
inline void CopySegment(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  constexpr uint32_t kBlock = sizeof(Block);
  constexpr uint32_t kInline = 1024;
  const auto block = [&](uint32_t at) {
    *reinterpret_cast<Block*>(to + at) = *reinterpret_cast<const Block*>(from + at);
  };
  if (bytes - kBlock > kInline - kBlock) [[unlikely]] {
    std::memcpy(to, from, bytes);
    return;
  }
  block(0);
  for (uint32_t at = kBlock; at + kBlock < bytes; at += kBlock) block(at);
  block(bytes - kBlock);
}

}  // namespace sluice::device
