// SPDX-License-Identifier: BSD-3-Clause
//
// Registers of the packetized NIC in page 0 from kPortTables on: the clock, and the VLAN and
// address filters. regs/ipu.h defines the other registers. All are zero at power-on except the
// clock, which runs.
#pragma once

#include <cstdint>

#include "regs/ipu.h"

namespace sluice::regs::ipu {

inline constexpr uint32_t kPortTables = 0x400;

// -------------------------------------------------------------------- clock

/// 8 bytes: nanoseconds. A new value takes effect when its upper half is stored.
inline constexpr uint32_t kClock = 0x400;
inline constexpr uint32_t kClockAdjust = 0x408;  ///< WO, 8 bytes, signed: added to kClock.
/// RO, 8 bytes each: kClock when a PTP frame arrived, and when a frame with kTxStamp was sent; 0 if
/// there was none yet. The first stamp remains until software confirms it in kStampTaken.
inline constexpr uint32_t kRxStamp = 0x410;
inline constexpr uint32_t kTxStampTime = 0x418;
inline constexpr uint32_t kStampTaken = 0x420;  ///< WO: kStampRx and kStampTx allow the next stamp.
inline constexpr uint32_t kStampRx = 1u << 0;
inline constexpr uint32_t kStampTx = 1u << 1;
inline constexpr uint32_t kClockBlockBytes = 0x24;
inline constexpr uint16_t kEtherTypePtp = 0x88f7;  ///< IEEE 1588 over Ethernet, Annex F.

// ------------------------------------------------------------------ filters

/// One bit per VLAN id; id 0 is the lowest bit of the first word. Enabled by kPortVlanFilter. A
/// frame is dropped if its outer tag is 802.1Q and the bit for the tag's id is clear. Other frames
/// pass.
inline constexpr uint32_t kVlanTable = 0x600;
inline constexpr uint32_t kVlanTableBytes = 4096 / 8;

/// Station addresses in addition to kStationAddress, and group addresses. Each is 8 bytes in the
/// format of kStationAddress, with kAddressValid. An entry takes effect when its upper half is
/// stored.
inline constexpr uint32_t kAddressTable = 0x800;
inline constexpr uint32_t kAddresses = 128;
inline constexpr uint64_t kAddressValid = uint64_t{1} << 63;
inline constexpr uint32_t kAddressTableBytes = 8 * kAddresses;

}  // namespace sluice::regs::ipu
