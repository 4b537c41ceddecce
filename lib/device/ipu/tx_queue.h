// SPDX-License-Identifier: BSD-3-Clause
//
// One transmit ring, and the staging memory in which all rings gather their frames
// before they leave in bursts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "bar/dma.h"
#include "device/device.h"
#include "device/ipu/statistics.h"
#include "regs/ipu.h"

namespace sluice::device::ipu {

/// Frames on their way out, in order. Bytes are the device's own copy.
class TxStaging {
 public:
  static constexpr uint32_t kBurst = 64;

  TxStaging() : memory_(std::make_unique<uint8_t[]>(kBytes)) {}

  /// Where the next frame goes and how it is announced. The holder advances it
  /// frame by frame while full() is false, then hands it back to Commit.
  struct Cursor {
    uint8_t* bytes;
    WireFrame* frame;
    const uint8_t* last_bytes;  ///< Beyond it a frame of kMaxFrameBytes does not fit.
    const WireFrame* frame_end;

    bool full() const { return frame == frame_end || bytes > last_bytes; }
    void Add(uint32_t length) {
      *frame++ = {bytes, length};
      bytes += (length + 63) & ~63u;
    }
  };

  Cursor Begin() {
    return {memory_.get() + used_, frames_.data() + count_,
            memory_.get() + kBytes - regs::ipu::kMaxFrameBytes, frames_.data() + kBurst};
  }
  /// Takes the cursor back; delivers the burst if it is full.
  void Commit(const Cursor& cursor, FrameSink& sink) {
    used_ = static_cast<uint32_t>(cursor.bytes - memory_.get());
    count_ = static_cast<uint32_t>(cursor.frame - frames_.data());
    if (cursor.full()) Flush(sink);
  }
  void Flush(FrameSink& sink) {
    if (count_ != 0) sink.Deliver({frames_.data(), count_});
    count_ = used_ = 0;
  }

 private:
  static constexpr uint32_t kBytes = 64 * 1024;

  std::unique_ptr<uint8_t[]> memory_;
  uint32_t used_ = 0;
  uint32_t count_ = 0;
  std::array<WireFrame, kBurst> frames_{};
};

/// `head` and `tail` are free-running, masked on use, and belong to the device
/// thread. A frame is begun only when all its segments are posted.
class TxQueue {
 public:
  bool Enable(const bar::DmaSpace& dma, uint64_t base, uint32_t entries);
  void Disable() { ring_ = nullptr; }
  bool enabled() const { return ring_ != nullptr; }
  bool pending() const { return ring_ != nullptr && head_ != tail_; }
  uint32_t head() const { return head_; }

  /// Doorbell; see RxQueue.
  bool SetTail(uint32_t tail);

  /// Gathers up to `budget` frames into `staging` and completes their descriptors.
  /// Returns the frames handled, sent or dropped.
  uint32_t Run(const bar::DmaSpace& dma, TxStaging& staging, FrameSink& sink,
               Statistics& statistics, uint32_t budget);

 private:
  static constexpr uint32_t kWindow = 64;
  static_assert(kWindow > regs::ipu::kMaxSegments);

  /// Reads descriptors from head on; returns their number.
  uint32_t Fetch(const bar::DmaSpace& dma);
  /// Segments of the frame that begins at window entry `first`; 0 if its end is not
  /// among the `fetched` entries.
  uint32_t Segments(uint32_t first, uint32_t fetched) const;
  /// Sends window entries from `first` on for as long as they are whole frames
  /// without offloads; returns the entry after the last. Stops at `end`.
  uint32_t SendPlain(uint32_t first, uint32_t end, TxStaging& staging, FrameSink& sink,
                     Statistics& statistics);
  void Send(uint32_t first, uint32_t segments, TxStaging& staging, FrameSink& sink,
            Statistics& statistics);
  void Complete(uint32_t first, uint32_t segments);

  regs::ipu::Descriptor* ring_ = nullptr;
  uint32_t mask_ = 0;
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
  /// The window: high words of the descriptors from head on and where their bytes
  /// are; null where the address faulted.
  std::array<uint64_t, kWindow> high_{};
  std::array<const uint8_t*, kWindow> data_{};
};

}  // namespace sluice::device::ipu
