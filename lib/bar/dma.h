// SPDX-License-Identifier: BSD-3-Clause
//
// Translates bus addresses to the host memory that a device may access, like an IOMMU. The host
// registers ranges, and the device translates every address that it receives. A descriptor with an
// invalid address therefore causes a counted fault instead of a crash.
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

/// A range of bus addresses and its mapping in this process.
struct DmaMapping {
  uint64_t bus;
  void* host;
  size_t bytes;
};

/// A device that keeps a copy of the range table.
class DmaObserver {
 public:
  virtual ~DmaObserver() = default;
  /// Reports that the ranges have changed. `ranges` contains all of them, unordered. Called by the
  /// thread that changed them, before removed memory is unmapped. Must not call the DmaSpace.
  virtual void RangesChanged(const std::vector<DmaMapping>& ranges) = 0;
};

/// Bus address ranges and their mappings in this process. Any thread may call Add, Remove and
/// Replace; only the device's thread may call Translate. A range must not be removed before the
/// device has been told to stop using it.
class DmaSpace {
 public:
  /// Maximum number of ranges: enough for every pipe and notification buffer of the largest device,
  /// and for the host's ranges.
  static constexpr uint32_t kMaxRanges = 10240;

  using Mapping = DmaMapping;

  /// Maps [bus, bus + bytes) to `host`. Returns false if the table is full, or if the range is
  /// empty or overlaps another.
  bool Add(uint64_t bus, void* host, size_t bytes);
  /// Removes the range that begins at `bus`. Has no effect if no range begins there.
  void Remove(uint64_t bus);

  /// Removes the ranges that begin at `old_buses` and adds `added`, which may overlap the removed
  /// ranges. Addresses that are in both the old and the new ranges remain accessible throughout, so
  /// that memory can grow and shrink while the device uses it. Returns false and changes nothing if
  /// a new range is empty or overlaps another one, or if there are not enough free slots.
  bool Replace(std::span<const uint64_t> old_buses, std::span<const Mapping> added);

  /// Returns the memory of [bus, bus + bytes), or null if not all of it is part of one range (a DMA
  /// fault, which the caller must count).
  uint8_t* Translate(uint64_t bus, uint64_t bytes) const {
    const Range& recent = ranges_[recent_[CacheLine(bus)]];
    if (uint8_t* host = recent.Find(bus, bytes)) [[likely]]
      return host;
    return Search(bus, bytes);
  }
  /// Returns the memory in the ranges that the device accesses through messages, or null. SetRemote
  /// may be called only while the device is idle.
  RemoteMemory* remote() const { return remote_; }
  void SetRemote(RemoteMemory* remote) { remote_ = remote; }

  /// Like Translate, for memory that both sides access directly: returns null if it is remote.
  uint8_t* TranslateLocal(uint64_t bus, uint64_t bytes) const {
    uint8_t* const at = Translate(bus, bytes);
    return remote_ != nullptr && remote_->Holds(at) ? nullptr : at;
  }
  // These functions forward to RemoteMemory. Without remote memory, all bytes are ready and the
  // other functions do nothing.
  size_t Ready(const void* at, size_t bytes, size_t least) const {
    return remote_ == nullptr ? bytes : remote_->Ready(at, bytes, least);
  }
  bool Ready(const void* at, size_t bytes) const {
    return remote_ == nullptr || remote_->Ready(at, bytes);
  }
  void Done(const void* at) const {
    if (remote_ != nullptr) [[unlikely]]
      remote_->Done(at);
  }
  void Forget() const {
    if (remote_ != nullptr) remote_->Forget();
  }
  void Stored(const void* at, size_t bytes) const {
    if (remote_ != nullptr) [[unlikely]]
      remote_->Stored(at, bytes);
  }
  bool congested() const { return remote_ != nullptr && remote_->congested(); }

  /// Registers `observer`, which is called at once and at each later change, and must outlive its
  /// registration. Null removes the observer. May be called by any thread.
  void SetObserver(DmaObserver* observer) const;

  /// Returns the range that contains the byte at `bus`, or an empty range. Called only by the
  /// device's thread.
  Mapping Around(uint64_t bus) const;

 private:
  /// `bytes` is 0 while the slot is free. Add stores it last and Remove stores it first, both with
  /// release order, so that a reader that loads a nonzero value also sees the other members.
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

  /// Translation cache, like that of an IOMMU. It has 2 MiB granules, is direct mapped, and is
  /// indexed by a multiplicative hash. An entry is a hint that Find verifies.
  static constexpr uint32_t kCacheBits = 12;
  static uint32_t CacheLine(uint64_t bus) {
    return static_cast<uint32_t>((bus >> 21) * 0x9e37'79b9'7f4a'7c15 >> (64 - kCacheBits));
  }

  bool Holds(const Range& range, std::span<const uint64_t> buses) const;
  /// Reports the ranges to the observer, if one is set. The caller must hold the mutex.
  void NotifyObserver() const;
  uint8_t* Search(uint64_t bus, uint64_t bytes) const;

  /// Returns a free slot; one must exist. Slots are used in rotation over at least kFewSlots,
  /// because the device may still be reading a slot that was just freed.
  uint32_t AllocateSlot();
  static constexpr uint32_t kFewSlots = 64;

  mutable std::mutex mutex_;  ///< Serializes writers.
  mutable DmaObserver* observer_ = nullptr;
  uint32_t next_slot_ = 0;  ///< Used by writers only.
  std::array<Range, kMaxRanges> ranges_;
  RemoteMemory* remote_ = nullptr;
  std::atomic<uint32_t> used_{0};  ///< All used slots are below this index.
  /// The device thread's last hits, by CacheLine.
  mutable std::array<uint16_t, 1u << kCacheBits> recent_{};
};

/// Translates the addresses that the device uses in one call. Most of them are in one range, which
/// is assumed to stay valid until the call ends.
class DmaBatch {
 public:
  explicit DmaBatch(const DmaSpace& space) : space_(space) {}

  /// Like DmaSpace::Translate.
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
