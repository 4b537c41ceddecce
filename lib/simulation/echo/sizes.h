// SPDX-License-Identifier: BSD-3-Clause
//
// Sizes of link transfers for 64-byte frames. The sizes for pipes are those of the Ensō hardware;
// the sizes for a packetized NIC come from the papers' measurements.
#pragma once

#include <cstdint>

namespace sluice::simulation {

inline constexpr uint32_t kFrame = 60;  // 64 bytes on the wire; the FCS is not stored in memory.
inline constexpr double kWireBytes = 64 + 20;  // Bytes per frame, including preamble and gap.
inline constexpr double kWireBits = 100e9;     // Bits per second.
inline constexpr uint32_t kRegister = 4;
// Size of a flit, of a notification and of a swap message.
inline constexpr uint32_t kLine = 64;
inline constexpr uint32_t kReadRequest = 512;  // Maximum size of a read request in bytes.

/// Descriptor rings of a packetized NIC. Every field must be at least 1, and `fetch` a multiple of
/// both descriptor sizes.
struct PacketRings {
  uint32_t rx_descriptor = 32;  ///< Bytes.
  uint32_t tx_descriptor = 16;  ///< Bytes.
  uint32_t fetch = 256;         ///< Bytes of descriptors fetched per read.
  uint32_t burst = 64;          ///< Maximum frames per doorbell.
  uint32_t tx_report = 32;      ///< Number of frames per transmit descriptor write-back.
};

}  // namespace sluice::simulation
