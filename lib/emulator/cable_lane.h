// SPDX-License-Identifier: BSD-3-Clause
//
// One direction of a cable: a ring of frames in memory that two processes have mapped, with one
// sender and one receiver. Neither trusts the other: every position is loaded once and validated,
// and the receiver reads frames and their lengths from a private copy.
//
// A frame is stored as a record: its length (4 bytes, little-endian), the frame, and padding to a
// multiple of 64 bytes, so that a minimum Ethernet frame occupies one cache line. A record does not
// wrap: a length of 0 means that the next record is at the ring's beginning. Positions are
// free-running byte counts. The sender publishes its position once per burst and loads the
// receiver's position only when the ring seems full, so that few cache lines except those of the
// frames are transferred between the two processors.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "device/device.h"

namespace sluice::emulator {

/// Fixed-size and position-independent; all zeros is an empty ring.
struct CableLane {
  /// Size of the ring in bytes, a power of two: enough for 8192 minimum Ethernet frames, or for 341
  /// frames of 1518 bytes. The ring is so long that a cache line has left the receiver's nearest
  /// caches before it is reused.
  static constexpr uint64_t kBytes = uint64_t{512} << 10;
  static constexpr uint32_t kLine = 64;
  /// Exceeds the longest frame of all models.
  static constexpr uint32_t kMaxFrameBytes = (12u << 10) - 4;

  struct alignas(kLine) Position {
    /// Stored with release order, after the bytes before it have been written or read.
    std::atomic<uint64_t> bytes;
    std::atomic<uint64_t> frames;  ///< Number of frames up to the position; for statistics.
  };

  Position written;   ///< Written by the sender.
  Position consumed;  ///< Written by the receiver.
  alignas(kLine) std::array<uint8_t, kBytes> records;

  /// Returns the size in bytes of a frame's record.
  static constexpr uint32_t RecordBytes(uint32_t length) {
    return (length + 4 + kLine - 1) & ~(kLine - 1);
  }
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// The sending end of a lane. Used by one thread. `lane` must outlive this object and have no other
/// sender.
class CableSender {
 public:
  explicit CableSender(CableLane& lane) : lane_(lane) {}

  /// Copies frames to the ring until the ring is full, and publishes them. Pads them with zeros to
  /// the Ethernet minimum, as a MAC does. Returns how many frames were processed; this includes
  /// frames longer than CableLane::kMaxFrameBytes, which are dropped and counted.
  uint32_t Send(std::span<const device::WireFrame> frames);

  /// Returns the number of frames sent that the receiver has not consumed yet.
  uint64_t InFlight() const;
  /// Returns the number of frames since the last call that were too long.
  uint64_t ReadAndClearOversize() { return std::exchange(oversize_, 0); }
  /// Returns whether the receiver's position was ever invalid. No frames are sent after that.
  bool lied_to() const { return lied_to_; }

 private:
  /// Returns whether a record of `bytes` bytes fits at `position_`; loads the receiver's position
  /// if necessary.
  bool HasRoom(uint64_t bytes);

  CableLane& lane_;
  uint64_t position_ = 0;
  uint64_t sent_ = 0;      ///< Number of frames sent.
  uint64_t consumed_ = 0;  ///< The receiver's position when it was last loaded.
  uint64_t oversize_ = 0;
  bool lied_to_ = false;
};

/// The receiving end of a lane. Used by one thread. `lane` must outlive this object and have no
/// other receiver.
class CableReceiver {
 public:
  explicit CableReceiver(CableLane& lane) : lane_(lane) {}

  /// Returns the oldest frames that have not been consumed, at most `max`. The frames are copies
  /// owned by this object, and are valid until the next call.
  std::span<const device::WireFrame> Pull(uint32_t max);
  /// Marks the first `count` frames of the last Pull as consumed.
  void Consumed(uint32_t count) { first_ += count; }

  /// Returns the number of frames that the sender reports as sent and that have not been consumed.
  uint64_t InFlight() const;
  /// Returns whether the sender's position or a record was ever invalid. No frames are received
  /// after that.
  bool lied_to() const { return lied_to_; }

 private:
  /// Number of bytes that are copied at once. This fits into the processor's nearest caches and can
  /// hold any record.
  static constexpr uint32_t kStageBytes = 32u << 10;

  void Refill();
  /// Finds the frames in the copy, which contains the first `bytes` bytes of the `published` bytes
  /// that the sender announced. Returns the total size of the complete records in bytes, or 0 if a
  /// record is invalid.
  uint64_t Find(uint64_t bytes, uint64_t published);

  CableLane& lane_;
  alignas(CableLane::kLine) std::array<uint8_t, kStageBytes> stage_;
  std::array<device::WireFrame, kStageBytes / CableLane::kLine> frames_;
  uint32_t first_ = 0;  ///< Frames [first_, last_) are waiting.
  uint32_t last_ = 0;
  uint64_t position_ = 0;
  uint64_t consumed_ = 0;  ///< Number of frames consumed.
  bool lied_to_ = false;
};

}  // namespace sluice::emulator
