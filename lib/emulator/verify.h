// SPDX-License-Identifier: BSD-3-Clause
//
// Verifies the frames that return from a device to which generated frames were sent. Frames may be
// reflected (addresses and ports swapped, first payload byte changed); the tag identifies the flow
// (tag.h). Order is checked only within a flow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "emulator/frame_ring.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// Selects which returned frames are compared byte by byte. Tags (loss, order, duplicates, length)
/// are checked on every frame, except with kOff.
enum class VerifyMode {
  kFull,     ///< Every frame.
  kSampled,  ///< One frame in kSampleInterval.
  kOff,      ///< Frames are only counted.
};
inline constexpr uint32_t kSampleInterval = 64;

/// Verifies returned frames by their tags. Owned by the stepping thread.
class TagVerifier {
 public:
  /// `ring` must outlive the verifier.
  TagVerifier(const FrameRing& ring, VerifyMode mode);

  /// Counts returned frames in `totals`.
  void Check(std::span<const device::WireFrame> frames, WireTotals& totals);

 private:
  /// Sequence numbers of a flow, extended to 64 bits from the 32 bits in the tag. All of [dense,
  /// next) have returned. The bitmap covers the numbers below `dense` that are within `window_` of
  /// `next`.
  struct Flow {
    uint64_t next = 0;
    uint64_t dense = 0;
  };

  /// Returns the ring entry of a returned frame and stores the frame's tag in `tag`. Returns null
  /// if the tag or the length is invalid.
  const FrameRing::Expected* Identify(const device::WireFrame& frame, Tag& tag) const;
  void CheckTags(std::span<const device::WireFrame> frames, WireTotals& totals);
  /// Compares all bytes that applications do not change with the bytes that were sent.
  void CheckBytes(const device::WireFrame& frame, WireTotals& totals);
  /// Determines what is wrong with a frame that has an invalid tag or length.
  void Blame(const device::WireFrame& frame, WireTotals& totals) const;
  void CheckOutOfOrder(uint32_t flow, uint32_t sequence, WireTotals& totals);
  void OpenGap(uint32_t flow, uint64_t sequence, WireTotals& totals);

  uint64_t& Word(uint32_t flow, uint64_t sequence) {
    return bits_[(uint64_t{flow} * window_ + (sequence & (window_ - 1))) / 64];
  }

  const FrameRing& ring_;
  const VerifyMode mode_;
  const uint32_t nonce_;
  uint64_t window_;  ///< A power of two, at least 64.
  std::vector<FrameRing::Expected> expected_;
  uint32_t index_mask_ = 0;
  std::vector<Flow> flows_;
  std::vector<uint64_t> bits_;  ///< One bit per sequence number modulo the window.
  uint32_t until_sample_;       ///< Number of frames to skip before the next comparison.
};

}  // namespace sluice::emulator
