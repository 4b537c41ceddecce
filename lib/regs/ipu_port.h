// SPDX-License-Identifier: BSD-3-Clause
//
// The packetized NIC's registers of page 0 from kPortTables on (regs/ipu.h defines the others):
// clock, and filters of VLANs and addresses. All are zero at power-on except the clock, which runs.
#pragma once

#include <cstdint>

#include "regs/ipu.h"

namespace sluice::regs::ipu {

inline constexpr uint32_t kPortTables = 0x400;

// -------------------------------------------------------------------- clock

/// 8 bytes: nanoseconds. A new value is effective when its upper half is stored.
inline constexpr uint32_t kClock = 0x400;
inline constexpr uint32_t kClockAdjust = 0x408;  ///< WO, 8 bytes, signed: added to kClock.
/// RO, 8 bytes: kClock at the arrival of a PTP frame, and at the departure of a frame with
/// kTxStamp; 0: none yet. The first stamp remains until software confirms it in kStampTaken.
inline constexpr uint32_t kRxStamp = 0x410;
inline constexpr uint32_t kTxStampTime = 0x418;
inline constexpr uint32_t kStampTaken = 0x420;  ///< WO: kStampRx and kStampTx allow the next stamp.
inline constexpr uint32_t kStampRx = 1u << 0;
inline constexpr uint32_t kStampTx = 1u << 1;
inline constexpr uint32_t kClockBlockBytes = 0x24;
inline constexpr uint16_t kEtherTypePtp = 0x88f7;  ///< IEEE 1588 over Ethernet, Annex F.

// ------------------------------------------------------------------ filters

/// One bit per VLAN id; id 0 is the lowest bit of the first word. Enabled by kPortVlanFilter. A
/// frame is dropped if its outer tag is 802.1Q and the bit of the tag's id is clear; other frames
/// pass.
inline constexpr uint32_t kVlanTable = 0x600;
inline constexpr uint32_t kVlanTableBytes = 4096 / 8;

/// Station addresses in addition to kStationAddress, and group addresses: 8 bytes each, as
/// kStationAddress, with kAddressValid. An entry is effective when its upper half is stored.
inline constexpr uint32_t kAddressTable = 0x800;
inline constexpr uint32_t kAddresses = 128;
inline constexpr uint64_t kAddressValid = uint64_t{1} << 63;
inline constexpr uint32_t kAddressTableBytes = 8 * kAddresses;

}  // namespace sluice::regs::ipu
