// SPDX-License-Identifier: BSD-3-Clause
//
// A bounded queue of frame copies, each with its earliest departure time. The loopback wire queues
// the device's frames in it, and the fault injector queues delayed frames.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "emulator/aligned_bytes.h"

namespace sluice::emulator {

/// A bounded queue of frame copies. Owned by the stepping thread.
class FrameFifo {
 public:
  /// Allocates room for `frames` frames (a power of two) that have `bytes` bytes in total.
  FrameFifo(uint32_t frames, size_t bytes);

  /// Appends a copy, padded with zeros to the Ethernet minimum as a MAC does. Returns the copy, or
  /// null if the queue is full.
  uint8_t* Push(const device::WireFrame& frame, uint64_t leave_ns);

  /// Returns the oldest frames that may depart at `now_ns`: at most `max`, and fewer at the end of
  /// the ring. The frames are valid until they are popped. A frame that may not depart yet blocks
  /// all later frames.
  std::span<const device::WireFrame> Front(uint64_t now_ns, uint32_t max) const;
  void Pop(uint32_t count);

  uint32_t size() const { return tail_ - head_; }

 private:
  uint32_t Slot(uint32_t index) const { return index & static_cast<uint32_t>(frames_.size() - 1); }

  const size_t capacity_;
  AlignedBytes bytes_;
  std::vector<device::WireFrame> frames_;  ///< Ring; indices are free-running and masked on use.
  std::vector<uint64_t> leave_ns_;
  std::vector<uint64_t> end_;  ///< Free-running byte position of the end of each frame.
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
  uint64_t byte_head_ = 0;
  uint64_t byte_tail_ = 0;
};

}  // namespace sluice::emulator
