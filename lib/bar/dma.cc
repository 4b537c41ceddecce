// SPDX-License-Identifier: BSD-3-Clause
#include "bar/dma.h"

#include <algorithm>

namespace sluice::bar {

bool DmaSpace::Add(uint64_t bus, void* host, size_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (bytes == 0 || bus + bytes < bus) return false;
  Range* free_slot = nullptr;
  const uint32_t used = used_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < std::min(used + 1, kMaxRanges); ++i) {
    Range& range = ranges_[i];
    const uint64_t size = range.bytes.load(std::memory_order_relaxed);
    const uint64_t start = range.bus.load(std::memory_order_relaxed);
    if (size == 0) {
      if (free_slot == nullptr) free_slot = &range;
    } else if (bus < start + size && start < bus + bytes) {
      return false;
    }
  }
  if (free_slot == nullptr) return false;
  free_slot->bus.store(bus, std::memory_order_relaxed);
  free_slot->host.store(static_cast<uint8_t*>(host), std::memory_order_relaxed);
  free_slot->bytes.store(bytes, std::memory_order_release);
  const uint32_t index = static_cast<uint32_t>(free_slot - ranges_.data());
  if (index >= used) used_.store(index + 1, std::memory_order_release);
  return true;
}

void DmaSpace::Remove(uint64_t bus) {
  const std::scoped_lock lock(mutex_);
  for (Range& range : ranges_) {
    if (range.bytes.load(std::memory_order_relaxed) != 0 &&
        range.bus.load(std::memory_order_relaxed) == bus) {
      range.bytes.store(0, std::memory_order_release);
      return;
    }
  }
}

uint8_t* DmaSpace::Search(uint64_t bus, uint64_t bytes) const {
  const uint32_t used = used_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    if (uint8_t* host = ranges_[i].Find(bus, bytes)) {
      recent_[CacheLine(bus)] = static_cast<uint16_t>(i);
      return host;
    }
  }
  return nullptr;
}

}  // namespace sluice::bar
