// SPDX-License-Identifier: BSD-3-Clause
//
// The port's filter on destination addresses and outer VLAN tags.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "device/device.h"
#include "regs/ipu_port.h"

namespace sluice::device::ipu {

/// Returns whether a frame of at least kMinFrameBytes has an outer 802.1Q tag.
inline bool HasTag(const WireFrame& frame) {
  return frame.length >= regs::ipu::kMinFrameBytes + 4 && frame.data[12] == 0x81 &&
         frame.data[13] == 0x00;
}
inline uint16_t TagOf(const WireFrame& frame) {
  return static_cast<uint16_t>(frame.data[14] << 8 | frame.data[15]);
}

/// The filter tables. The host writes them word by word, through the register map.
class Filter {
 public:
  /// Returns whether the port accepts a frame. `control` and `station` are the values of
  /// kPortControl and kStationAddress.
  bool Accepts(const WireFrame& frame, uint32_t control, uint64_t station) const {
    using namespace regs::ipu;  // NOLINT: the control bits of this device
    if (control & kPortVlanFilter && HasTag(frame) && !HasVlan(TagOf(frame) & 0xfff)) return false;
    if (control & kPortPromiscuous) return true;
    uint64_t address = 0;
    std::memcpy(&address, frame.data, 6);
    if (address == (station & kBroadcast) || address == kBroadcast) return true;
    if (control & kPortAllMulticast && (frame.data[0] & 1) != 0) return true;
    const auto end = addresses_.begin() + used_;
    return std::find(addresses_.begin(), end, address | kAddressValid) != end;
  }

  void WriteVlans(uint32_t word, uint32_t value) { vlans_[word] = value; }
  uint32_t ReadVlans(uint32_t word) const { return vlans_[word]; }

  void WriteAddress(uint32_t word, uint32_t value) {
    uint64_t& entry = addresses_[word / 2];
    if (word % 2 == 0) {
      low_ = value;
      return;
    }
    entry = uint64_t{value} << 32 | low_;
    for (used_ = regs::ipu::kAddresses; used_ != 0; --used_) {
      if (addresses_[used_ - 1] & regs::ipu::kAddressValid) break;
    }
  }
  uint32_t ReadAddress(uint32_t word) const {
    return static_cast<uint32_t>(addresses_[word / 2] >> (word % 2 * 32));
  }

 private:
  static constexpr uint64_t kBroadcast = (uint64_t{1} << 48) - 1;

  bool HasVlan(uint32_t id) const { return (vlans_[id / 32] >> (id % 32) & 1) != 0; }

  std::array<uint32_t, regs::ipu::kVlanTableBytes / 4> vlans_{};
  std::array<uint64_t, regs::ipu::kAddresses> addresses_{};
  uint32_t used_ = 0;  ///< Index of the last valid entry plus 1.
  uint32_t low_ = 0;   ///< Low half of an entry whose high half has not been written yet.
};

}  // namespace sluice::device::ipu
