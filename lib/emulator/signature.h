// SPDX-License-Identifier: BSD-3-Clause
//
// Verifies the frames that return from a device that was fed from a capture. These frames have no
// tag. Each is identified by the bytes that an echo does not change, after the headers and the
// first payload byte, and by the length in its headers (a NIC that cuts frames by the IP length
// loses Ethernet trailers). Order is not checked. A frame that returns before it was sent belongs
// to an earlier run; later frames of that run cannot be distinguished. Frames with malformed
// headers are compared from byte 64 on, or by their IP header if it claims more bytes than the
// frame has.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "emulator/verify.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// Verifies returned frames by their signatures. Owned by the stepping thread.
class SignatureVerifier {
 public:
  explicit SignatureVerifier(VerifyMode mode) : mode_(mode) {}

  /// Adds a frame to those that will be sent, in sending order.
  void Learn(const device::WireFrame& frame);
  /// Records that frames [first, first + count) in the order of Learn were sent.
  void Sent(uint64_t first, uint32_t count);
  /// Counts returned frames in `totals`. Duplicates and frames of earlier runs are detected only in
  /// full mode.
  void Check(std::span<const device::WireFrame> frames, WireTotals& totals);
  /// Returns whether `frame` is one of the learned frames, possibly changed by an echo.
  bool Knows(const device::WireFrame& frame) { return Find(frame) != nullptr; }

 private:
  struct Traffic {
    uint64_t sent = 0;
    uint64_t returned = 0;
  };

  Traffic* Find(const device::WireFrame& frame);
  void CheckOne(const device::WireFrame& frame, WireTotals& totals);

  const VerifyMode mode_;
  std::unordered_map<uint64_t, Traffic> exact_;
  std::unordered_map<uint64_t, Traffic*> loose_;  ///< Frames shorter than their headers claim.
  std::vector<Traffic*> order_;
  uint32_t until_sample_ = kSampleInterval;
};

}  // namespace sluice::emulator
