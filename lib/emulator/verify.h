// SPDX-License-Identifier: BSD-3-Clause
//
// Checks what comes back from a device that was fed with generated frames. Frames
// may be reflected (addresses and ports swapped, first payload byte changed): the
// flow is known by the tag (tag.h). Order is demanded within a flow only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "emulator/frame_ring.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// How much of the returned traffic is compared byte by byte. Tags (loss, order,
/// duplicates, length) are checked on every frame unless kOff.
enum class VerifyMode {
  kFull,     ///< Every frame.
  kSampled,  ///< One frame in kSampleInterval.
  kOff,      ///< Frames are counted and not looked at.
};
inline constexpr uint32_t kSampleInterval = 64;

/// Owned by the stepping thread.
class TagVerifier {
 public:
  /// `ring` outlives the verifier.
  TagVerifier(const FrameRing& ring, VerifyMode mode);

  /// Accounts frames that came back in `totals`.
  void Check(std::span<const device::WireFrame> frames, WireTotals& totals);

 private:
  /// Sequence numbers of a flow. [dense, next) have all returned; below dense the
  /// bitmap knows the last `window_` of them. Extended to 64 bits from the 32 that
  /// the tag carries.
  struct Flow {
    uint64_t next = 0;
    uint64_t dense = 0;
  };

  /// The frame of the ring that a frame is, or null if its tag or its length is not as sent.
  const FrameRing::Expected* Identify(const device::WireFrame& frame, Tag& tag) const;
  void CheckTags(std::span<const device::WireFrame> frames, WireTotals& totals);
  /// Compares all bytes that applications leave alone with those that were sent.
  void CheckBytes(const device::WireFrame& frame, WireTotals& totals);
  /// A frame whose tag or length is not as sent.
  void Blame(const device::WireFrame& frame, WireTotals& totals) const;
  void CheckOutOfOrder(uint32_t flow, uint32_t sequence, WireTotals& totals);
  void OpenGap(uint32_t flow, uint64_t sequence, WireTotals& totals);

  uint64_t& Word(uint32_t flow, uint64_t sequence) {
    return bits_[(uint64_t{flow} * window_ + (sequence & (window_ - 1))) / 64];
  }

  const FrameRing& ring_;
  const VerifyMode mode_;
  const uint32_t nonce_;
  uint64_t window_;  ///< Power of two ≥ 64.
  std::vector<FrameRing::Expected> expected_;
  uint32_t index_mask_ = 0;
  std::vector<Flow> flows_;
  std::vector<uint64_t> bits_;  ///< One bit per sequence number modulo the window.
  uint32_t until_sample_;       ///< Frames to skip before the next that is compared.
};

}  // namespace sluice::emulator
