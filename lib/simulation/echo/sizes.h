// SPDX-License-Identifier: BSD-3-Clause
//
// Sizes of what crosses the link for 64-byte frames: of pipes as Ensō's hardware has them, of a
// packetized NIC as of the papers' measurements.
#pragma once

#include <cstdint>

namespace sluice::simulation {

inline constexpr uint32_t kFrame = 60;         // 64 bytes on the wire: the FCS is not in memory.
inline constexpr double kWireBytes = 64 + 20;  // Of a frame, with preamble and gap.
inline constexpr double kWireBits = 100e9;     // A second.
inline constexpr uint32_t kRegister = 4;
inline constexpr uint32_t kLine = 64;          // A flit, a notification, a swap's message.
inline constexpr uint32_t kReadRequest = 512;  // At most.

// Of a packetized NIC: sizes, and how many go at once.
inline constexpr uint32_t kRxDescriptor = 32;
inline constexpr uint32_t kTxDescriptor = 16;
inline constexpr uint32_t kFetch = 256;    // Bytes of descriptors that are read at once.
inline constexpr uint32_t kBurst = 64;     // Frames to a doorbell, at most.
inline constexpr uint32_t kTxReport = 32;  // Frames to a descriptor that reports them as sent.

}  // namespace sluice::simulation
