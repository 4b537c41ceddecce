// SPDX-License-Identifier: BSD-3-Clause
//
// The device's header parser: Ethernet, up to two VLAN tags, IPv4 with options,
// IPv6 with extension headers, and whether ports follow. Reads nothing beyond the
// frame; what it cannot follow it leaves unclassified.
#pragma once

#include <cstdint>

#include "device/device.h"
#include "regs/ipu.h"

namespace sluice::device::ipu {

/// Offsets are from the first byte of the frame and valid only where said.
struct Headers {
  uint16_t packet_class;  ///< regs::ipu::kClass… codes.
  uint16_t ip_offset;     ///< If ip_version != 0.
  uint16_t l4_offset;     ///< If ip_version != 0; within the frame.
  uint16_t ip_end;        ///< End of the datagram by its own length, within the frame.
  uint8_t ip_version;     ///< 4, 6, or 0: no complete IP header.
  uint8_t protocol;       ///< Of the last header reached.
  bool has_ports;         ///< TCP or UDP, first or only fragment's ports present, not fragmented.
  /// A source route with stops ahead (IPv4 option, IPv6 routing header): the destination that the
  /// upper checksum covers is the last stop, not the one in the IP header.
  bool source_routed;
};

/// The link's part of the packet class: kClassEther, or what the outer tag says, kClassVlan or
/// kClassQinq. Length as for ParseAny.
uint16_t LinkClass(const WireFrame& frame);

/// `frame.length` is at least regs::ipu::kMinFrameBytes.
Headers ParseAny(const WireFrame& frame);

/// The common frame in a few instructions: no VLAN tag, IPv4 without options or
/// fragments, TCP or UDP with its ports. Its packet class, or 0 for any other.
inline uint16_t PlainClass(const WireFrame& frame) {
  constexpr uint32_t kIp = regs::ipu::kMinFrameBytes;
  if (frame.length < kIp + 24) return 0;
  // Little-endian words: EtherType 0x0800, version and header length 0x45; then
  // fragment bits, TTL, protocol.
  uint32_t type;
  uint32_t fragment;
  uint16_t total_be;
  __builtin_memcpy(&type, frame.data + 12, 4);
  __builtin_memcpy(&fragment, frame.data + kIp + 6, 4);
  __builtin_memcpy(&total_be, frame.data + kIp + 2, 2);
  const uint32_t protocol = fragment >> 24;
  if ((type & 0xff'ffff) != 0x45'0008 || (fragment & 0xff3f) != 0) return 0;
  if (__builtin_bswap16(total_be) < 24) return 0;
  constexpr uint16_t kIpv4 = regs::ipu::kClassEther | regs::ipu::kClassIpv4;
  if (protocol == 17) return kIpv4 | regs::ipu::kClassUdp;
  return protocol == 6 ? kIpv4 | regs::ipu::kClassTcp : 0;
}

/// ParseAny, with the common frame first.
inline Headers Parse(const WireFrame& frame) {
  const uint16_t packet_class = PlainClass(frame);
  if (packet_class == 0) [[unlikely]]
    return ParseAny(frame);
  constexpr uint32_t kIp = regs::ipu::kMinFrameBytes;
  const uint32_t end = kIp + (frame.data[kIp + 2] << 8 | frame.data[kIp + 3]);
  return {.packet_class = packet_class,
          .ip_offset = kIp,
          .l4_offset = kIp + 20,
          .ip_end = static_cast<uint16_t>(end < frame.length ? end : frame.length),
          .ip_version = 4,
          .protocol = frame.data[kIp + 9],
          .has_ports = true,
          .source_routed = false};
}

/// The write-back flags of kPortChecksum for a parsed frame: IPv4 header, and TCP
/// or UDP where the datagram is whole. A UDP length that no datagram of this packet can have is a
/// bad checksum; below a source route with stops ahead there is no verdict.
uint16_t VerifyChecksums(const WireFrame& frame, const Headers& headers);

/// RFC 1071 sum of `bytes` bytes, not complemented, folded to 16 bits; as if stored
/// in wire order.
uint16_t OnesComplementSum(const uint8_t* data, uint32_t bytes, uint32_t initial);

}  // namespace sluice::device::ipu
