// SPDX-License-Identifier: BSD-3-Clause
//
// One receive ring: prefetches descriptors, writes frames to their buffers and completes the
// descriptors in place, in batches of at most kWriteBackBatch.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "bar/dma.h"
#include "device/copy.h"
#include "device/device.h"
#include "device/ipu/clock.h"
#include "regs/ipu.h"

namespace sluice::device::ipu {

/// The two words of a frame's first write-back, without its length and status bits.
struct RxMetadata {
  uint64_t low;   ///< Hash and mark.
  uint64_t high;  ///< Packet class and flags.
};

/// kWaiting: descriptors have been posted but have not arrived from remote memory.
enum class RxOutcome { kWritten, kNoDescriptor, kOversize, kDmaFault, kWaiting };

/// Indices are free-running and masked on use: written_back ≤ head ≤ fetched ≤ tail ≤ written_back
/// + entries. Only the device thread accesses them. The host sees completions through write-backs
/// (release) and sets `tail` through its doorbell.
class RxQueue {
 public:
  /// Enables the ring. Returns false and leaves the queue disabled if the values are invalid.
  /// `clock` must outlive the ring and provides the timestamps for kRingStamp; null disables
  /// timestamps.
  bool Enable(const bar::DmaSpace& dma, uint64_t base, uint32_t entries, uint32_t buffer_bytes,
              bool scatter, const Clock* clock);
  /// Publishes the completed descriptors and disables the ring.
  void Disable();
  bool enabled() const { return ring_ != nullptr; }
  /// Called after the host has removed memory. Buffers are looked up again. If the ring itself was
  /// removed, disables the queue, discards its unpublished completions and returns false.
  bool Recheck(const bar::DmaSpace& dma);
  uint32_t head() const { return head_; }
  /// Returns the number of completions that the host can see; free-running.
  uint32_t published() const { return written_back_; }

  /// Handles a doorbell. Returns false and ignores the doorbell if the ring is disabled, or if the
  /// doorbell posts more descriptors than the ring has.
  bool SetTail(uint32_t tail);

  /// Returns whether enough descriptors have been posted for a frame of `length` bytes.
  bool HasRoom(uint32_t length) const {
    return tail_ - head_ >= (length <= buffer_bytes_ ? 1 : Segments(length));
  }

  /// Writes one frame. enabled() must be true. On kDmaFault, the descriptors are completed with
  /// length 0, so that the host gets its buffers back.
  RxOutcome Write(const bar::DmaSpace& dma, const WireFrame& frame, const RxMetadata& metadata) {
    if (fetched_ - head_ < kFetchLow && fetched_ != tail_) Fetch(dma);
    if (frame.length > simple_bytes_) [[unlikely]]
      return WriteSegments(dma, frame, metadata);
    if (head_ == fetched_) return tail_ == head_ ? RxOutcome::kNoDescriptor : RxOutcome::kWaiting;
    uint8_t* const buffer = buffers_[head_ % kFetchMax];
    if (buffer == nullptr) [[unlikely]] {
      Complete(0, regs::ipu::kRxEndOfPacket);
      return RxOutcome::kDmaFault;
    }
    CopySegment(buffer, frame.data, frame.length);
    Complete(metadata.low, metadata.high | regs::ipu::kRxEndOfPacket | frame.length);
    return RxOutcome::kWritten;
  }

  /// Writes frames that are TCP or UDP over plain IPv4 and have at most `max_length` bytes, each to
  /// one mapped buffer. Stops before the first frame that is not of this kind or has no such
  /// buffer. Returns the number of written frames and adds their lengths to `bytes`.
  uint32_t WritePlain(const bar::DmaSpace& dma, std::span<const WireFrame> frames,
                      uint32_t max_length, uint64_t* bytes);

  /// Makes all completed descriptors visible to the host. Called at the end of a burst.
  void WriteBack();

 private:
  /// Maximum number of descriptors that are fetched ahead. At least the number of segments of the
  /// longest frame.
  static constexpr uint32_t kFetchMax = 128;
  static constexpr uint32_t kFetchLow = 32;
  static constexpr uint32_t kFetchBatch = 32;
  static constexpr uint32_t kWriteBackBatch = 32;  ///< One batch of descriptors fills whole cache
                                                   ///< lines.
  static_assert(kFetchMax % kWriteBackBatch == 0);
  static_assert(kFetchMax * regs::ipu::kMinBuffer >= regs::ipu::kMaxFrameBytes);

  uint32_t Segments(uint32_t length) const { return (length + buffer_bytes_ - 1) / buffer_bytes_; }
  void Complete(uint64_t low, uint64_t high) {
    completed_[head_ % kWriteBackBatch] = {low, high | regs::ipu::kDone};
    if (++head_ % kWriteBackBatch == 0) WriteBack();
  }
  /// Fetches up to kFetchBatch posted descriptors. Fetches none if they are remote and have not
  /// arrived.
  void Fetch(const bar::DmaSpace& dma);
  /// Reports the descriptors written back since index `first`, and the contents of their buffers,
  /// to remote memory.
  void ReportWritten(uint32_t first) const;
  /// Writes a frame of any length.
  RxOutcome WriteSegments(const bar::DmaSpace& dma, const WireFrame& frame,
                          const RxMetadata& metadata);

  const bar::DmaSpace* dma_ = nullptr;  ///< Not null while the queue has a ring.
  regs::ipu::Descriptor* ring_ = nullptr;
  uint64_t base_ = 0;
  uint32_t mask_ = 0;
  uint32_t buffer_bytes_ = 0;
  uint32_t simple_bytes_ = 0;     ///< Maximum length of frames that only need to be copied to one
                                  ///< buffer.
  uint32_t stamp_bytes_ = 0;      ///< Timestamp bytes before each buffer.
  const Clock* clock_ = nullptr;  ///< Not null if frames get timestamps.
  bool scatter_ = false;
  uint32_t written_back_ = 0;
  uint32_t head_ = 0;
  uint32_t fetched_ = 0;
  uint32_t tail_ = 0;
  /// Completed but not yet visible to the host: [written_back, head).
  alignas(64) std::array<regs::ipu::Descriptor, kWriteBackBatch> completed_{};
  /// Buffers of the descriptors [head, fetched). Null if the buffer's address is not mapped.
  std::array<uint8_t*, kFetchMax> buffers_{};
};

}  // namespace sluice::device::ipu
