// SPDX-License-Identifier: BSD-3-Clause
//
// The device's header parser: Ethernet, up to two VLAN tags, IPv4 with options,
// IPv6 with extension headers, and whether ports follow. Reads nothing beyond the
// frame; what it cannot follow it leaves unclassified.
#pragma once

#include <cstdint>

#include "device/device.h"

namespace sluice::device::ipu {

/// Offsets are from the first byte of the frame and valid only where said.
struct Headers {
  uint16_t packet_class;    ///< regs::ipu::kClass… codes.
  uint16_t ip_offset;       ///< If ip_version != 0.
  uint16_t l4_offset;       ///< If ip_version != 0; within the frame.
  uint16_t ip_end;          ///< End of the datagram by its own length, within the frame.
  uint8_t ip_version;       ///< 4, 6, or 0: no complete IP header.
  uint8_t protocol;         ///< Of the last header reached.
  bool has_ports;           ///< TCP or UDP, first or only fragment's ports present, not fragmented.
};

/// `frame.length` is at least regs::ipu::kMinFrameBytes.
Headers Parse(const WireFrame& frame);

/// The write-back flags of kPortChecksum for a parsed frame: IPv4 header, and TCP
/// or UDP where the datagram is whole.
uint16_t VerifyChecksums(const WireFrame& frame, const Headers& headers);

/// RFC 1071 sum of `bytes` bytes, not complemented, folded to 16 bits; as if stored
/// in wire order.
uint16_t OnesComplementSum(const uint8_t* data, uint32_t bytes, uint32_t initial);

}  // namespace sluice::device::ipu
