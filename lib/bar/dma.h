// SPDX-License-Identifier: BSD-3-Clause
//
// The host memory that a device may reach, by bus address: what an IOMMU is to
// hardware. The host registers ranges, the device translates every address that
// it is given, so that a wild descriptor is a counted fault and not a crash.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "bar/remote_memory.h"

namespace sluice::bar {

/// A range of bus addresses and where this process sees it.
struct DmaMapping {
  uint64_t bus;
  void* host;
  size_t bytes;
};

/// A device that keeps a table of its own.
class DmaObserver {
 public:
  virtual ~DmaObserver() = default;
  /// The ranges have changed; these are all of them, in no order. Called by the thread that changed
  /// them, before memory that was taken back is unmapped. May not call the DmaSpace.
  virtual void RangesChanged(const std::vector<DmaMapping>& ranges) = 0;
};

/// Ranges of bus addresses and where this process sees them. Add and Remove: any
/// thread. Translate: the device's thread. A range is removed only after the
/// device was told to stop using it.
class DmaSpace {
 public:
  /// Every pipe and notification buffer of the largest device, and the host's own.
  static constexpr uint32_t kMaxRanges = 10240;

  using Mapping = DmaMapping;

  /// Makes [bus, bus + bytes) reachable at `host`. False if the table is full, the
  /// range is empty or it overlaps another.
  bool Add(uint64_t bus, void* host, size_t bytes);
  /// Takes back the range that begins at `bus`; no effect if there is none.
  void Remove(uint64_t bus);

  /// Takes the ranges that begin at `old_buses` back and adds `added`, which may
  /// overlap those. Addresses that are in both stay reachable throughout, so memory
  /// may grow and shrink around what the device uses. False, without effect, if an
  /// addition is empty, overlaps another range or finds no slot.
  bool Replace(std::span<const uint64_t> old_buses, std::span<const Mapping> added);

  /// The memory behind [bus, bus + bytes), or null if any byte of it is not
  /// registered as part of one range (a DMA fault; the caller counts it).
  uint8_t* Translate(uint64_t bus, uint64_t bytes) const {
    const Range& recent = ranges_[recent_[CacheLine(bus)]];
    if (uint8_t* host = recent.Find(bus, bytes)) [[likely]]
      return host;
    return Search(bus, bytes);
  }
  /// Memory among the ranges that is reached by messages; null: there is none. Set while the device
  /// does nothing.
  RemoteMemory* remote() const { return remote_; }
  void SetRemote(RemoteMemory* remote) { remote_ = remote; }

  /// `observer` is called at once, and for each change from now on; it outlives its use. Null:
  /// none. Any thread.
  void SetObserver(DmaObserver* observer) const;

  /// The range that holds the byte at `bus`; one of no bytes if none does. Device's thread.
  Mapping Around(uint64_t bus) const;

 private:
  /// `bytes` is 0 while the slot is free; stored last on Add and first on Remove
  /// with release order, so that a reader that sees it sees the rest.
  struct Range {
    std::atomic<uint64_t> bytes{0};
    std::atomic<uint64_t> bus{0};
    std::atomic<uint8_t*> host{nullptr};

    uint8_t* Find(uint64_t address, uint64_t length) const {
      const uint64_t size = bytes.load(std::memory_order_acquire);
      const uint64_t offset = address - bus.load(std::memory_order_relaxed);
      if (offset >= size || length > size - offset) return nullptr;
      return host.load(std::memory_order_relaxed) + offset;
    }
  };

  /// Translation cache, as an IOMMU has one: 2 MiB granules, direct mapped, spread
  /// by a multiplicative hash. An entry is a hint; Find checks it.
  static constexpr uint32_t kCacheBits = 12;
  static uint32_t CacheLine(uint64_t bus) {
    return static_cast<uint32_t>((bus >> 21) * 0x9e37'79b9'7f4a'7c15 >> (64 - kCacheBits));
  }

  bool Holds(const Range& range, std::span<const uint64_t> buses) const;
  /// The mutex is held.
  void TellObserver() const;
  uint8_t* Search(uint64_t bus, uint64_t bytes) const;

  /// A free slot; there is one. Slots take turns, also where few would do: the
  /// device may be half way through reading one that was just given back.
  uint32_t TakeSlot();
  static constexpr uint32_t kFewSlots = 64;

  mutable std::mutex mutex_;  ///< Orders writers.
  mutable DmaObserver* observer_ = nullptr;
  uint32_t next_slot_ = 0;  ///< Writers only.
  std::array<Range, kMaxRanges> ranges_;
  RemoteMemory* remote_ = nullptr;
  std::atomic<uint32_t> used_{0};  ///< Slots below it may be in use.
  /// Device thread's last hits, by CacheLine.
  mutable std::array<uint16_t, 1u << kCacheBits> recent_{};
};

/// Translates many addresses of one call of the device, most of which lie in one range: what is
/// true at the first of them is taken to be true until the call ends.
class DmaBatch {
 public:
  explicit DmaBatch(const DmaSpace& space) : space_(space) {}

  /// As DmaSpace::Translate.
  uint8_t* Translate(uint64_t bus, uint64_t bytes) {
    if (!Holds(bus, bytes)) [[unlikely]] {
      range_ = space_.Around(bus);
      if (!Holds(bus, bytes)) return nullptr;
    }
    return static_cast<uint8_t*>(range_.host) + (bus - range_.bus);
  }

 private:
  bool Holds(uint64_t bus, uint64_t bytes) const {
    const uint64_t offset = bus - range_.bus;
    return offset < range_.bytes && bytes <= range_.bytes - offset;
  }

  const DmaSpace& space_;
  DmaSpace::Mapping range_{0, nullptr, 0};
};

}  // namespace sluice::bar
