// SPDX-License-Identifier: BSD-3-Clause
//
// Checks what comes back from a device that was fed from a capture. Such frames
// carry no tag: each is known by the bytes that an echo leaves alone, behind the
// headers and the first payload byte, and by the length that its own headers
// state (a NIC that cuts frames by the IP length loses Ethernet trailers). Order
// is not checked. What returns before it was ever sent is of an earlier run; later such frames
// cannot be told from those of this one. Frames whose headers do not hold together are compared
// from byte 64 on, or by their IP header if they claim to be longer than they are.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "emulator/verify.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// Owned by the stepping thread.
class SignatureVerifier {
 public:
  explicit SignatureVerifier(VerifyMode mode) : mode_(mode) {}

  /// Adds a frame to those that will be sent, in their order.
  void Learn(const device::WireFrame& frame);
  /// The frames number [first, first + count) of the learnt order were sent.
  void Sent(uint64_t first, uint32_t count);
  /// Accounts frames that came back in `totals`. Duplicates show in full mode only.
  void Check(std::span<const device::WireFrame> frames, WireTotals& totals);

 private:
  struct Traffic {
    uint64_t sent = 0;
    uint64_t returned = 0;
  };

  Traffic* Find(const device::WireFrame& frame);
  void CheckOne(const device::WireFrame& frame, WireTotals& totals);

  const VerifyMode mode_;
  std::unordered_map<uint64_t, Traffic> exact_;
  std::unordered_map<uint64_t, Traffic*> loose_;  ///< Frames that are shorter than they claim.
  std::vector<Traffic*> order_;
  uint32_t until_sample_ = kSampleInterval;
};

}  // namespace sluice::emulator
