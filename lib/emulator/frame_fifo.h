// SPDX-License-Identifier: BSD-3-Clause
//
// A bounded queue of frame copies, each with the time at which it may leave. The
// loopback wire stores what the device sent in it, the fault injector what is
// still under way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "emulator/aligned_bytes.h"

namespace sluice::emulator {

/// Owned by the stepping thread.
class FrameFifo {
 public:
  /// Room for `frames` frames (a power of two) of `bytes` together.
  FrameFifo(uint32_t frames, size_t bytes);

  /// Appends a copy, padded with zeros to the Ethernet minimum as a MAC does, or
  /// returns null if it has no room. The result is the copy.
  uint8_t* Push(const device::WireFrame& frame, uint64_t leave_ns);

  /// Frames that may leave at `now_ns`, oldest first, at most `max`; valid until
  /// they are popped. A frame holds up those behind it.
  std::span<const device::WireFrame> Front(uint64_t now_ns, uint32_t max) const;
  void Pop(uint32_t count);

  uint32_t size() const { return tail_ - head_; }

 private:
  uint32_t Slot(uint32_t index) const { return index & static_cast<uint32_t>(frames_.size() - 1); }

  const size_t capacity_;
  AlignedBytes bytes_;
  std::vector<device::WireFrame> frames_;  ///< Ring; indices are free-running, masked on use.
  std::vector<uint64_t> leave_ns_;
  std::vector<uint64_t> end_;  ///< Free-running byte position behind each frame.
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
  uint64_t byte_head_ = 0;
  uint64_t byte_tail_ = 0;
};

}  // namespace sluice::emulator
