// SPDX-License-Identifier: BSD-3-Clause
//
// The device's header parser. It parses Ethernet, up to two VLAN tags, IPv4 with options, and IPv6
// with extension headers, and determines whether ports follow. It does not read beyond the end of
// the frame. Headers that it cannot parse remain unclassified.
#pragma once

#include <cstdint>

#include "device/device.h"
#include "regs/ipu.h"

namespace sluice::device::ipu {

/// Offsets are from the first byte of the frame. Each member is valid only under the condition that
/// its comment states.
struct Headers {
  uint16_t packet_class;  ///< regs::ipu::kClass… codes.
  uint16_t ip_offset;     ///< Valid if ip_version != 0.
  uint16_t l4_offset;     ///< Valid if ip_version != 0; within the frame.
  uint16_t ip_end;        ///< End of the datagram according to its length field, but not beyond the
                          ///< end of the frame.
  uint8_t ip_version;     ///< 4 or 6; 0 if there is no complete IP header.
  uint8_t protocol;       ///< Protocol after the last parsed IP or extension header.
  bool has_ports;         ///< TCP or UDP, not fragmented, and the frame contains the ports.
  /// The packet has an incomplete source route (IPv4 option or IPv6 routing header). The transport
  /// checksum then covers the final destination, which differs from the one in the IP header.
  bool source_routed;
};

/// Returns the link-layer part of the packet class: kClassEther, or kClassVlan or kClassQinq,
/// depending on the outer tag. The frame must have the minimum length that ParseAny requires.
uint16_t LinkClass(const WireFrame& frame);

/// Parses a frame. `frame.length` must be at least regs::ipu::kMinFrameBytes.
Headers ParseAny(const WireFrame& frame);

/// Classifies the most common frames in a few instructions: no VLAN tag, IPv4 without options or
/// fragments, TCP or UDP with its ports. Returns the packet class, or 0 for other frames.
inline uint16_t PlainClass(const WireFrame& frame) {
  constexpr uint32_t kIp = regs::ipu::kMinFrameBytes;
  if (frame.length < kIp + 24) return 0;
  // Little-endian words. `type` contains EtherType 0x0800 and version and header length 0x45;
  // `fragment` contains fragment bits, TTL and protocol.
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

/// Like ParseAny, but faster for plain frames.
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

/// Returns the checksum flags of a parsed frame's write-back (kPortChecksum): one for the IPv4
/// header, and one for TCP or UDP if the datagram is complete. An invalid UDP length or an
/// incomplete TCP header is treated as a bad checksum. The TCP or UDP flag is absent if a source
/// route is incomplete, or if UDP over IPv4 has no checksum.
uint16_t VerifyChecksums(const WireFrame& frame, const Headers& headers);

/// Returns the RFC 1071 sum of `initial` and the big-endian 16-bit words at `data`, folded to 16
/// bits and not complemented.
uint16_t OnesComplementSum(const uint8_t* data, uint32_t bytes, uint32_t initial);

}  // namespace sluice::device::ipu
