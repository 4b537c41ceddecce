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

/// Descriptor rings of a packetized NIC. Every field is at least 1; `fetch` is a multiple of both
/// descriptors.
struct PacketRings {
  uint32_t rx_descriptor = 32;  ///< Bytes.
  uint32_t tx_descriptor = 16;  ///< Bytes.
  uint32_t fetch = 256;         ///< Bytes of descriptors per read.
  uint32_t burst = 64;          ///< Frames per doorbell, at most.
  uint32_t tx_report = 32;      ///< Frames per transmit descriptor that is written back.
};

}  // namespace sluice::simulation
