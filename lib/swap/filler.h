// SPDX-License-Identifier: BSD-3-Clause
//
// Writes consecutive frames to a region. Each frame occupies whole slots. Filler is a value type,
// so that a loop that copies a burst can keep it in registers.
#pragma once

#include <atomic>
#include <cstdint>

#include "swap/region.h"

namespace sluice::swap {

class Filler {
 public:
  /// Creates a filler without a region, which no frame fits.
  Filler() = default;
  /// Creates a filler for an empty region that the caller owns.
  Filler(const Region& region, const Geometry& geometry)
      : region_(region),
        at_(geometry.DataOffset()),
        end_(geometry.region_bytes),
        headroom_(geometry.headroom_bytes),
        max_frames_(geometry.max_frames) {}

  explicit operator bool() const { return region_.base != nullptr; }
  uint32_t region() const { return region_.id; }
  uint32_t count() const { return count_; }

  /// Returns whether a frame of `length` ≤ kMaxFrameBytes bytes fits.
  bool Fits(uint32_t length) const {
    return count_ != max_frames_ && SlotBytes(length) <= end_ - at_;
  }
  /// Returns the address for the next frame. Fits() must be true for the frame.
  uint8_t* Next() const { return region_.base + at_ + headroom_; }
  /// Adds the frame at Next(), which must be complete, to the region. A thread that loads the count
  /// (acquire) sees the complete frame, as does a process that recovers the region after this
  /// process has died.
  void Publish(uint32_t length) {
    region_.entries()[count_] = MakeEntry(at_ + headroom_, length);
    at_ += SlotBytes(length);
    std::atomic_ref(region_.header().count).store(++count_, std::memory_order_release);
  }

 private:
  uint32_t SlotBytes(uint32_t length) const {
    return (headroom_ + length + kSlotBytes - 1) & ~(kSlotBytes - 1);
  }

  Region region_;
  uint32_t at_ = 0;  ///< Offset of the next slot.
  uint32_t end_ = 0;
  uint32_t headroom_ = 0;
  uint32_t count_ = 0;
  uint32_t max_frames_ = 0;
};

}  // namespace sluice::swap
