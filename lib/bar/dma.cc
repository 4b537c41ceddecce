// SPDX-License-Identifier: BSD-3-Clause
#include "bar/dma.h"

#include <algorithm>
#include <vector>

namespace sluice::bar {

bool DmaSpace::Add(uint64_t bus, void* host, size_t bytes) {
  const Mapping added = {bus, host, bytes};
  return Replace({}, {&added, 1});
}

void DmaSpace::Remove(uint64_t bus) { Replace({&bus, 1}, {}); }

bool DmaSpace::Holds(const Range& range, std::span<const uint64_t> buses) const {
  return range.bytes.load(std::memory_order_relaxed) != 0 &&
         std::find(buses.begin(), buses.end(), range.bus.load(std::memory_order_relaxed)) !=
             buses.end();
}

uint32_t DmaSpace::AllocateSlot() {
  const uint32_t used = used_.load(std::memory_order_relaxed);
  const uint32_t limit = std::clamp(used, kFewSlots, kMaxRanges);
  uint32_t slot = limit;
  for (uint32_t i = 0; i < limit && slot == limit; ++i) {
    const uint32_t candidate = (next_slot_ + i) % limit;
    if (ranges_[candidate].bytes.load(std::memory_order_relaxed) == 0) slot = candidate;
  }
  next_slot_ = slot + 1;
  if (slot >= used) used_.store(slot + 1, std::memory_order_release);
  return slot;
}

bool DmaSpace::Replace(std::span<const uint64_t> old_buses, std::span<const Mapping> added) {
  const std::scoped_lock lock(mutex_);
  const uint32_t used = used_.load(std::memory_order_relaxed);
  std::vector<bool> old(used);
  uint32_t free_slots = kMaxRanges - used;
  for (uint32_t i = 0; i < used; ++i) {
    old[i] = Holds(ranges_[i], old_buses);
    if (ranges_[i].bytes.load(std::memory_order_relaxed) == 0) ++free_slots;
  }
  if (added.size() > free_slots) return false;
  for (size_t a = 0; a < added.size(); ++a) {
    const uint64_t bus = added[a].bus;
    const uint64_t bytes = added[a].bytes;
    if (bytes == 0 || bus + bytes < bus) return false;
    const auto overlaps = [&](uint64_t start, uint64_t size) {
      return size != 0 && bus < start + size && start < bus + bytes;
    };
    for (size_t other = 0; other < a; ++other) {
      if (overlaps(added[other].bus, added[other].bytes)) return false;
    }
    for (uint32_t i = 0; i < used; ++i) {
      if (!old[i] && overlaps(ranges_[i].bus.load(std::memory_order_relaxed),
                              ranges_[i].bytes.load(std::memory_order_relaxed))) {
        return false;
      }
    }
  }

  for (const Mapping& mapping : added) {
    Range& slot = ranges_[AllocateSlot()];
    slot.bus.store(mapping.bus, std::memory_order_relaxed);
    slot.host.store(static_cast<uint8_t*>(mapping.host), std::memory_order_relaxed);
    slot.bytes.store(mapping.bytes, std::memory_order_release);
  }
  for (uint32_t i = 0; i < used; ++i) {
    if (old[i]) ranges_[i].bytes.store(0, std::memory_order_release);
  }
  NotifyObserver();
  return true;
}

void DmaSpace::SetObserver(DmaObserver* observer) const {
  const std::scoped_lock lock(mutex_);
  observer_ = observer;
  NotifyObserver();
}

void DmaSpace::NotifyObserver() const {
  if (observer_ == nullptr) return;
  std::vector<Mapping> mappings;
  const uint32_t used = used_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < used; ++i) {
    const uint64_t bytes = ranges_[i].bytes.load(std::memory_order_relaxed);
    if (bytes == 0) continue;
    mappings.push_back({ranges_[i].bus.load(std::memory_order_relaxed),
                        ranges_[i].host.load(std::memory_order_relaxed), bytes});
  }
  observer_->RangesChanged(mappings);
}

// Repeats the search if the range was replaced by a larger one before it could be read here.
DmaSpace::Mapping DmaSpace::Around(uint64_t bus) const {
  while (Translate(bus, 1) != nullptr) {
    // The slot in which Translate found the range.
    const Range& range = ranges_[recent_[CacheLine(bus)]];
    const uint64_t bytes = range.bytes.load(std::memory_order_acquire);
    const uint64_t start = range.bus.load(std::memory_order_relaxed);
    if (bus - start < bytes) return {start, range.host.load(std::memory_order_relaxed), bytes};
  }
  return {0, nullptr, 0};
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
