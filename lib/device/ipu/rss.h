// SPDX-License-Identifier: BSD-3-Clause
//
// Toeplitz hash (Microsoft RSS specification), computed with one table of 256 entries per byte of
// the longest input (IPv6 addresses and ports).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "regs/ipu.h"

namespace sluice::device::ipu {

class RssHash {
 public:
  static constexpr uint32_t kMaxInput = 36;

  RssHash();

  /// Rebuilds the tables; control path.
  void SetKey(std::span<const uint8_t, regs::ipu::kRssKeyBytes> key);

  /// Returns the hash contribution of `bytes` input bytes in wire order, the first of which is at
  /// `position`. The hash is the XOR of the contributions of all parts.
  uint32_t Part(uint32_t position, const uint8_t* data, uint32_t bytes) const {
    uint32_t hash = 0;
    for (uint32_t i = 0; i < bytes; ++i) hash ^= tables_[position + i][data[i]];
    return hash;
  }

 private:
  std::array<std::array<uint32_t, 256>, kMaxInput> tables_;
};

}  // namespace sluice::device::ipu
