// SPDX-License-Identifier: BSD-3-Clause
//
// One direction of a cable: a ring of frames in memory that two processes have mapped, with one
// sender and one receiver. Neither believes what the other stores: every position is loaded once
// and checked, and the receiver reads frames, with their lengths, from a copy of its own.
//
// A frame is a record: its length (4 bytes, little-endian), the frame, and what is left of the last
// 64-byte line, so that a frame of the Ethernet minimum is one line. No record crosses the end of
// the ring: a length of 0 says that the next one lies at its beginning. Positions are free-running
// bytes. The sender publishes its position once a burst and looks for the receiver's only when the
// ring seems full, so that few lines but those of frames pass between the two processors.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "device/device.h"

namespace sluice::emulator {

/// Fixed-size, position-independent; all zeroes is an empty ring.
struct CableLane {
  /// Power of two: 8192 frames of the Ethernet minimum, or 341 of 1518 bytes. Long enough that a
  /// line has left the receiver's nearest caches when its turn comes again.
  static constexpr uint64_t kBytes = uint64_t{512} << 10;
  static constexpr uint32_t kLine = 64;
  /// Longer than any model sends.
  static constexpr uint32_t kMaxFrameBytes = (12u << 10) - 4;

  struct alignas(kLine) Position {
    std::atomic<uint64_t> bytes;   ///< Release: what lies before it is written, or was read.
    std::atomic<uint64_t> frames;  ///< The same in frames; for statistics alone.
  };

  Position written;  ///< The sender's.
  Position taken;    ///< The receiver's.
  alignas(kLine) std::array<uint8_t, kBytes> records;

  /// Bytes of the record of a frame.
  static constexpr uint32_t RecordBytes(uint32_t length) {
    return (length + 4 + kLine - 1) & ~(kLine - 1);
  }
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// Used by one thread. The lane outlives it; nobody else sends.
class CableSender {
 public:
  explicit CableSender(CableLane& lane) : lane_(lane) {}

  /// Copies leading frames into the ring, padded with zeroes to the Ethernet minimum as a MAC
  /// does, until it is full, and publishes them. Returns how many; frames longer than
  /// CableLane::kMaxFrameBytes are dropped and counted among them.
  uint32_t Send(std::span<const device::WireFrame> frames);

  /// Frames sent that the receiver has not said to have taken.
  uint64_t InFlight() const;
  /// Frames that were too long, since the last call.
  uint64_t TakeOversize() { return std::exchange(oversize_, 0); }
  /// True once the receiver's position was one that cannot be. Nothing is sent from then on.
  bool lied_to() const { return lied_to_; }

 private:
  /// Whether a record of so many bytes fits at the position; looks for the receiver's if it must.
  bool HasRoom(uint64_t bytes);

  CableLane& lane_;
  uint64_t position_ = 0;
  uint64_t sent_ = 0;   ///< Frames.
  uint64_t taken_ = 0;  ///< The receiver's position, as far as it is known.
  uint64_t oversize_ = 0;
  bool lied_to_ = false;
};

/// Used by one thread. The lane outlives it; nobody else receives.
class CableReceiver {
 public:
  explicit CableReceiver(CableLane& lane) : lane_(lane) {}

  /// The oldest frames that are there and not consumed, at most `max`. They are this object's own
  /// copies, valid until the next call.
  std::span<const device::WireFrame> Pull(uint32_t max);
  /// The first `count` frames of the last Pull need not come again.
  void Consumed(uint32_t count) { first_ += count; }

  /// Frames that the sender says to have sent and that were not consumed.
  uint64_t InFlight() const;
  /// True once the sender's position or a record was one that cannot be. Nothing is received from
  /// then on.
  bool lied_to() const { return lied_to_; }

 private:
  /// Copied at a time: stays in the caches nearest to the processor, and holds any record.
  static constexpr uint32_t kStageBytes = 32u << 10;

  void Refill();
  /// Finds the frames in the copy of `bytes`, of `published` that the sender announced. Returns
  /// the bytes of whole records, 0 for a lie.
  uint64_t Find(uint64_t bytes, uint64_t published);

  CableLane& lane_;
  alignas(CableLane::kLine) std::array<uint8_t, kStageBytes> stage_;
  std::array<device::WireFrame, kStageBytes / CableLane::kLine> frames_;
  uint32_t first_ = 0;  ///< Frames [first_, last_) wait.
  uint32_t last_ = 0;
  uint64_t position_ = 0;
  uint64_t taken_ = 0;  ///< Frames.
  bool lied_to_ = false;
};

}  // namespace sluice::emulator
