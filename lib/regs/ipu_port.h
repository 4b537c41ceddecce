// SPDX-License-Identifier: BSD-3-Clause
//
// The packetized NIC's registers of page 0 from kPortTables on (regs/ipu.h has the others): clock,
// filters of VLANs and addresses. All are zero at power-on but for the clock, which runs.
#pragma once

#include <cstdint>

#include "regs/ipu.h"

namespace sluice::regs::ipu {

inline constexpr uint32_t kPortTables = 0x400;

// -------------------------------------------------------------------- clock

/// 8 bytes: nanoseconds. A store sets it, with its upper half.
inline constexpr uint32_t kClock = 0x400;
inline constexpr uint32_t kClockAdjust = 0x408;  ///< WO, 8 bytes, signed: added to kClock.
/// RO, 8 bytes: kClock when a PTP frame arrived, or one with kTxStamp left; 0: none did. The first
/// stamp stays until it is taken.
inline constexpr uint32_t kRxStamp = 0x410;
inline constexpr uint32_t kTxStampTime = 0x418;
inline constexpr uint32_t kStampTaken = 0x420;  ///< WO: kStampRx and kStampTx make room.
inline constexpr uint32_t kStampRx = 1u << 0;
inline constexpr uint32_t kStampTx = 1u << 1;
inline constexpr uint32_t kClockBlockBytes = 0x24;
inline constexpr uint16_t kEtherTypePtp = 0x88f7;  ///< IEEE 1588 over Ethernet, Annex F.

// ------------------------------------------------------------------ filters

/// A bit for each VLAN id, id 0 the lowest of the first word: in force with kPortVlanFilter. A
/// frame whose outer tag is 802.1Q with an id that is not there is dropped; others pass.
inline constexpr uint32_t kVlanTable = 0x600;
inline constexpr uint32_t kVlanTableBytes = 4096 / 8;

/// Station addresses beside kStationAddress, and groups: 8 bytes each, as kStationAddress, with
/// kAddressValid. An entry is in force with its upper half.
inline constexpr uint32_t kAddressTable = 0x800;
inline constexpr uint32_t kAddresses = 128;
inline constexpr uint64_t kAddressValid = uint64_t{1} << 63;
inline constexpr uint32_t kAddressTableBytes = 8 * kAddresses;

}  // namespace sluice::regs::ipu
