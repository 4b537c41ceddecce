// SPDX-License-Identifier: BSD-3-Clause
//
// One transmit ring.
#pragma once

#include <array>
#include <cstdint>

#include "bar/dma.h"
#include "device/device.h"
#include "device/ipu/clock.h"
#include "device/ipu/statistics.h"
#include "device/ipu/tx_staging.h"
#include "regs/ipu.h"

namespace sluice::device::ipu {

/// `head` and `tail` are free-running, masked on use, and accessed only by the device thread. A
/// frame is begun only once all of its segments have been posted.
class TxQueue {
 public:
  bool Enable(const bar::DmaSpace& dma, uint64_t base, uint32_t entries);
  void Disable() { ring_ = nullptr; }
  bool enabled() const { return ring_ != nullptr; }
  /// See RxQueue::Recheck.
  bool Recheck(const bar::DmaSpace& dma);
  bool pending() const { return ring_ != nullptr && head_ != tail_; }
  uint32_t head() const { return head_; }

  /// Handles a doorbell; see RxQueue::SetTail.
  bool SetTail(uint32_t tail);

  /// Copies up to `budget` frames into `staging` and completes their descriptors. Returns the
  /// number of frames that were sent or dropped. `clock` provides the timestamps that descriptors
  /// request.
  uint32_t Run(const bar::DmaSpace& dma, TxStaging& staging, FrameSink& sink,
               Statistics& statistics, Clock& clock, uint32_t budget);

 private:
  static constexpr uint32_t kWindow = 64;
  static_assert(kWindow > regs::ipu::kMaxSegments);

  /// Reads descriptors, starting at head, and returns their number. Returns 0 if the descriptors or
  /// their data are in remote memory and have not arrived.
  uint32_t Fetch(const bar::DmaSpace& dma);
  /// Returns how many of `count` descriptors have arrived from remote memory.
  uint32_t Arrived(const bar::DmaSpace& dma, uint32_t count);
  /// Returns whether all data of the first `count` entries of the window has arrived.
  bool DataArrived(const bar::DmaSpace& dma, uint32_t count) const;
  /// Reports to remote memory that the window has been read and that its first `done` entries are
  /// complete.
  void ReportProgress(const bar::DmaSpace& dma, uint32_t fetched, uint32_t done);
  /// Returns the number of segments of the frame that begins at window entry `first`. Returns 0 if
  /// the end of the frame is not among the `fetched` entries, or if the frame has more than
  /// kMaxSegments.
  uint32_t Segments(uint32_t first, uint32_t fetched) const;
  /// Sends the window entries [first, end) until it reaches one that is not a plain frame. A plain
  /// frame is a whole frame with mapped data, a valid length and no offloads. Returns the index
  /// after the last entry sent.
  uint32_t SendPlain(uint32_t first, uint32_t end, TxStaging& staging, FrameSink& sink,
                     Statistics& statistics);
  void Send(uint32_t first, uint32_t segments, TxStaging& staging, FrameSink& sink,
            Statistics& statistics, Clock& clock);
  void Complete(uint32_t first, uint32_t segments);

  regs::ipu::Descriptor* ring_ = nullptr;
  uint64_t base_ = 0;
  uint32_t mask_ = 0;
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
  /// The window: high words of the descriptors starting at head, and addresses of their data (null
  /// if not mapped).
  std::array<uint64_t, kWindow> high_{};
  std::array<const uint8_t*, kWindow> data_{};
};

}  // namespace sluice::device::ipu
