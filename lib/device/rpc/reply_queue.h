// SPDX-License-Identifier: BSD-3-Clause
//
// Frames that the device has made, until the wire takes them in a burst.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "device/device.h"

namespace sluice::device::rpc {

class ReplyQueue {
 public:
  static constexpr uint32_t kFrames = 128;

  ReplyQueue() : memory_(std::make_unique<uint8_t[]>(kBytes)) {}

  /// Where the next frame goes, if it has at most `bytes` bytes; null: there is no room.
  uint8_t* Begin(uint32_t bytes) {
    return count_ == kFrames || bytes > kBytes - used_ ? nullptr : memory_.get() + used_;
  }
  /// The frame of the last Begin is there.
  void Add(uint32_t length) {
    frames_[count_++] = {memory_.get() + used_, length};
    used_ += (length + 63) & ~63u;
    if (used_ > kBytes) used_ = kBytes;
  }
  uint32_t size() const { return count_; }
  void Flush(FrameSink& sink) {
    if (count_ != 0) sink.Deliver({frames_.data(), count_});
    count_ = used_ = 0;
  }

 private:
  static constexpr uint32_t kBytes = 256 * 1024;

  std::unique_ptr<uint8_t[]> memory_;
  uint32_t used_ = 0;
  uint32_t count_ = 0;
  std::array<WireFrame, kFrames> frames_{};
};

}  // namespace sluice::device::rpc
