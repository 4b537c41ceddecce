// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipu/rss.h"

namespace sluice::device::ipu {

RssHash::RssHash() { SetKey(std::array<uint8_t, regs::ipu::kRssKeyBytes>{}); }

void RssHash::SetKey(std::span<const uint8_t, regs::ipu::kRssKeyBytes> key) {
  for (uint32_t position = 0; position < kMaxInput; ++position) {
    // Key bits [8·position, 8·position + 40): input bit b selects the 32 bits that start at bit b.
    uint64_t bits = 0;
    for (uint32_t i = 0; i < 5; ++i) {
      const uint32_t at = position + i;
      bits = bits << 8 | (at < key.size() ? key[at] : 0);
    }
    for (uint32_t value = 0; value < 256; ++value) {
      uint32_t hash = 0;
      for (uint32_t bit = 0; bit < 8; ++bit) {
        if (value & (0x80u >> bit)) hash ^= static_cast<uint32_t>(bits >> (8 - bit));
      }
      tables_[position][value] = hash;
    }
  }
}

}  // namespace sluice::device::ipu
