// SPDX-License-Identifier: BSD-3-Clause
//
// Memory in which a device collects frames to deliver them in bursts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "device/device.h"

namespace sluice::device {

/// Collects copies of at most `kFrames` frames, each of at most `kMaxFrameBytes` bytes, to be sent
/// in order. `kBytes` is the total size of the memory for the copies.
template <uint32_t kFrames, uint32_t kBytes, uint32_t kMaxFrameBytes>
class FrameStaging {
 public:
  static constexpr uint32_t kBurst = kFrames;

  FrameStaging() : memory_(std::make_unique<uint8_t[]>(kBytes)) {}

  /// Points to the space for the next frame and its WireFrame. The caller adds frames while full()
  /// is false, then passes the cursor to Keep or Commit.
  struct Cursor {
    uint8_t* bytes;
    WireFrame* frame;
    const uint8_t* last_bytes;  ///< Last position at which a frame of kMaxFrameBytes fits.
    const WireFrame* frame_end;

    bool full() const { return frame == frame_end || bytes > last_bytes; }
    void Add(uint32_t length) {
      *frame++ = {bytes, length};
      bytes += (length + 63) & ~63u;
    }
  };

  Cursor Begin() {
    return {memory_.get() + used_, frames_.data() + count_, memory_.get() + kBytes - kMaxFrameBytes,
            frames_.data() + kFrames};
  }
  /// Stores the positions of a cursor that was returned by Begin.
  void Keep(const Cursor& cursor) {
    used_ = static_cast<uint32_t>(cursor.bytes - memory_.get());
    count_ = static_cast<uint32_t>(cursor.frame - frames_.data());
  }
  /// Calls Keep, then delivers the burst if it is full.
  void Commit(const Cursor& cursor, FrameSink& sink) {
    Keep(cursor);
    if (cursor.full()) Flush(sink);
  }
  uint32_t size() const { return count_; }
  void Flush(FrameSink& sink) {
    if (count_ != 0) sink.Deliver({frames_.data(), count_});
    count_ = used_ = 0;
  }

 private:
  static_assert(kBytes >= kMaxFrameBytes);

  std::unique_ptr<uint8_t[]> memory_;
  uint32_t used_ = 0;
  uint32_t count_ = 0;
  std::array<WireFrame, kFrames> frames_{};
};

}  // namespace sluice::device
