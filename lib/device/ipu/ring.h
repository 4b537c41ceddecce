// SPDX-License-Identifier: BSD-3-Clause
//
// Functions shared by receive and transmit rings.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "bar/dma.h"
#include "regs/ipu.h"

namespace sluice::device::ipu {

/// Returns the ring at `base`, or null if size, alignment or mapping is invalid.
inline regs::ipu::Descriptor* MapRing(const bar::DmaSpace& dma, uint64_t base, uint32_t entries) {
  if (!std::has_single_bit(entries) || entries < regs::ipu::kMinRing ||
      entries > regs::ipu::kMaxRing || base % 64 != 0) {
    return nullptr;
  }
  return reinterpret_cast<regs::ipu::Descriptor*>(
      dma.Translate(base, uint64_t{entries} * regs::ipu::kDescriptorBytes));
}

/// Returns whether the ring at `base` is still mapped at `ring`.
inline bool HasRing(const bar::DmaSpace& dma, uint64_t base, uint32_t entries,
                    const regs::ipu::Descriptor* ring) {
  return MapRing(dma, base, entries) == ring;
}

/// Stores the high word with release order, so that a thread that reads it also sees the frame's
/// bytes and the low word.
inline void StoreHigh(regs::ipu::Descriptor& descriptor, uint64_t high) {
  std::atomic_ref<uint64_t>(descriptor.high).store(high, std::memory_order_release);
}

}  // namespace sluice::device::ipu
