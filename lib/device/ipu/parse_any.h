// SPDX-License-Identifier: BSD-3-Clause
//
// Inline implementation of parser.h, which is used by the CPU model and by the model on a card
// (device/grid). On a card, only compiler builtins are available.
#pragma once

#include <cstdint>

#include "device/device.h"
#include "device/ipu/parser.h"
#include "regs/ipu.h"

namespace sluice::device::ipu::parsing {

using namespace regs::ipu;  // NOLINT: the classes and flags of this device

inline constexpr uint16_t kTypeIpv4 = 0x0800;
inline constexpr uint16_t kTypeArp = 0x0806;
inline constexpr uint16_t kTypeVlan = 0x8100;
inline constexpr uint16_t kTypeIpv6 = 0x86dd;
inline constexpr uint16_t kTypeQinq = 0x88a8;
inline constexpr uint8_t kProtocolIcmp = 1;
inline constexpr uint8_t kProtocolTcp = 6;
inline constexpr uint8_t kProtocolUdp = 17;
inline constexpr uint8_t kProtocolRouting = 43;
inline constexpr uint8_t kProtocolFragment = 44;
inline constexpr uint8_t kProtocolIcmpv6 = 58;
inline constexpr uint8_t kProtocolSctp = 132;
inline constexpr uint32_t kIpv4Bytes = 20;
inline constexpr uint32_t kIpv6Bytes = 40;
inline constexpr uint32_t kMaxExtensions = 8;

inline uint32_t Least(uint32_t a, uint32_t b) { return a < b ? a : b; }
inline uint16_t Load16(const uint8_t* p) { return static_cast<uint16_t>(p[0] << 8 | p[1]); }

/// Sets the transport header's part of the packet class. Sets has_ports if the frame contains the
/// ports.
inline void ParseTransport(bool fragment, Headers& headers) {
  if (fragment) {
    headers.packet_class |= kClassFragment;
    return;
  }
  const bool room = headers.l4_offset + 4u <= headers.ip_end;
  switch (headers.protocol) {
    case kProtocolTcp:
      headers.packet_class |= kClassTcp;
      headers.has_ports = room;
      break;
    case kProtocolUdp:
      headers.packet_class |= kClassUdp;
      headers.has_ports = room;
      break;
    case kProtocolSctp:
      headers.packet_class |= kClassSctp;
      break;
    case kProtocolIcmp:
      headers.packet_class |= headers.ip_version == 4 ? kClassIcmp : kClassOtherL4;
      break;
    case kProtocolIcmpv6:
      headers.packet_class |= headers.ip_version == 6 ? kClassIcmp : kClassOtherL4;
      break;
    default:
      headers.packet_class |= kClassOtherL4;
  }
}

/// Returns whether the IPv4 options contain an incomplete source route. RFC 791 section 3.1: a
/// route's third byte points to the next hop or, after the last hop, beyond the end of the option.
inline bool HasStopsAhead(const uint8_t* option, uint32_t left) {
  constexpr uint8_t kEnd = 0, kNone = 1, kLooseRoute = 131, kStrictRoute = 137;
  while (left >= 2 && option[0] != kEnd) {
    const uint32_t bytes = option[0] == kNone ? 1 : option[1];
    if (bytes == 0 || bytes > left) return false;
    const bool route = option[0] == kLooseRoute || option[0] == kStrictRoute;
    if (route && bytes >= 3 && option[2] <= bytes) return true;
    option += bytes;
    left -= bytes;
  }
  return false;
}

inline void ParseIpv4(const WireFrame& frame, uint32_t at, Headers& headers) {
  if (frame.length - at < kIpv4Bytes) return;
  const uint8_t* ip = frame.data + at;
  const uint32_t header_bytes = (ip[0] & 0xf) * 4u;
  const uint32_t total = Load16(ip + 2);
  if (ip[0] >> 4 != 4 || header_bytes < kIpv4Bytes || total < header_bytes ||
      header_bytes > frame.length - at) {
    return;
  }
  headers.ip_version = 4;
  headers.protocol = ip[9];
  headers.ip_offset = static_cast<uint16_t>(at);
  headers.l4_offset = static_cast<uint16_t>(at + header_bytes);
  headers.ip_end = static_cast<uint16_t>(Least(at + total, frame.length));
  headers.packet_class |= header_bytes == kIpv4Bytes ? kClassIpv4 : kClassIpv4Options;
  headers.source_routed = HasStopsAhead(ip + kIpv4Bytes, header_bytes - kIpv4Bytes);
  ParseTransport((Load16(ip + 6) & 0x3fff) != 0, headers);
}

inline bool IsExtension(uint8_t protocol) {
  return protocol == 0 || protocol == kProtocolRouting || protocol == 60 ||
         protocol == kProtocolFragment;
}

inline void ParseIpv6(const WireFrame& frame, uint32_t at, Headers& headers) {
  if (frame.length - at < kIpv6Bytes) return;
  const uint8_t* ip = frame.data + at;
  if (ip[0] >> 4 != 6) return;
  headers.ip_version = 6;
  headers.ip_offset = static_cast<uint16_t>(at);
  headers.ip_end = static_cast<uint16_t>(Least(at + kIpv6Bytes + Load16(ip + 4), frame.length));
  uint32_t l4 = at + kIpv6Bytes;
  uint8_t protocol = ip[6];
  bool fragment = false;
  headers.packet_class |= IsExtension(protocol) ? kClassIpv6Extension : kClassIpv6;
  for (uint32_t i = 0; i < kMaxExtensions && IsExtension(protocol) && l4 + 8 <= headers.ip_end;
       ++i) {
    const uint8_t* extension = frame.data + l4;
    const uint32_t bytes = protocol == kProtocolFragment ? 8u : (extension[1] + 1) * 8u;
    fragment = fragment || protocol == kProtocolFragment;
    // RFC 8200 section 4.4: byte 3 is Segments Left.
    if (protocol == kProtocolRouting && extension[3] != 0) headers.source_routed = true;
    protocol = extension[0];
    l4 += bytes;
    if (fragment) break;
  }
  headers.protocol = protocol;
  headers.l4_offset = static_cast<uint16_t>(Least(l4, headers.ip_end));
  ParseTransport(fragment, headers);
}

inline uint16_t OnesComplementSum(const uint8_t* data, uint32_t bytes, uint32_t initial) {
  // Adds little-endian words and swaps the bytes of the sum once, at the end (RFC 1071, 2(B)).
  uint64_t sum = static_cast<uint64_t>(__builtin_bswap16(static_cast<uint16_t>(initial))) +
                 __builtin_bswap16(static_cast<uint16_t>(initial >> 16));
  uint32_t at = 0;
  for (; at + 4 <= bytes; at += 4) {
    uint32_t word;
    __builtin_memcpy(&word, data + at, 4);
    sum += word;
  }
  uint32_t rest = 0;
  for (uint32_t i = 0; i < bytes - at; ++i) rest |= uint32_t{data[at + i]} << 8 * i;
  sum += rest;
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return __builtin_bswap16(static_cast<uint16_t>(sum));
}

/// Returns whether the transport checksum is correct. The sum over the pseudo-header and the
/// `bytes` bytes of the segment or datagram must be all ones (RFC 768, RFC 9293).
inline bool TransportChecksumGood(const WireFrame& frame, const Headers& headers, uint32_t bytes) {
  const uint8_t* ip = frame.data + headers.ip_offset;
  const uint32_t addresses = headers.ip_version == 4 ? 8 : 32;
  const uint8_t* source = headers.ip_version == 4 ? ip + 12 : ip + 8;
  const uint32_t pseudo = OnesComplementSum(source, addresses, bytes + headers.protocol);
  return OnesComplementSum(frame.data + headers.l4_offset, bytes, pseudo) == 0xffff;
}

inline uint16_t LinkClass(const WireFrame& frame) {
  const uint16_t type = Load16(frame.data + 12);
  if (frame.length < kMinFrameBytes + 4) return kClassEther;
  return type == kTypeQinq ? kClassQinq : type == kTypeVlan ? kClassVlan : kClassEther;
}

inline Headers ParseAny(const WireFrame& frame) {
  Headers headers{};
  uint32_t at = kMinFrameBytes;
  uint16_t type = Load16(frame.data + 12);
  headers.packet_class = LinkClass(frame);
  for (uint32_t tags = 0; tags < 2 && (type == kTypeVlan || type == kTypeQinq); ++tags) {
    if (frame.length < at + 4) return headers;
    type = Load16(frame.data + at + 2);
    at += 4;
  }
  if (type == kTypeIpv4) {
    ParseIpv4(frame, at, headers);
  } else if (type == kTypeIpv6) {
    ParseIpv6(frame, at, headers);
  } else if (type == kTypeArp && headers.packet_class == kClassEther) {
    headers.packet_class = kClassArp;
  }
  return headers;
}

inline uint16_t VerifyChecksums(const WireFrame& frame, const Headers& headers) {
  uint16_t flags = 0;
  const uint8_t* ip = frame.data + headers.ip_offset;
  if (headers.ip_version == 4) {
    const uint32_t header_bytes = (ip[0] & 0xf) * 4u;
    flags |= OnesComplementSum(ip, header_bytes, 0) == 0xffff ? kRxIpGood : kRxIpBad;
  }
  const uint32_t claimed = headers.ip_version == 4 ? headers.ip_offset + Load16(ip + 2)
                           : headers.ip_version == 6
                               ? headers.ip_offset + kIpv6Bytes + Load16(ip + 4)
                               : 0u;
  const uint32_t transport = headers.packet_class & kClassTransport;
  if ((transport != kClassUdp && transport != kClassTcp) || claimed != headers.ip_end ||
      headers.source_routed) {
    return flags;
  }
  uint32_t bytes = headers.ip_end - headers.l4_offset;
  const uint8_t* l4 = frame.data + headers.l4_offset;
  if (transport == kClassUdp) {
    // RFC 768: the length includes the header. 0 denotes a jumbogram (RFC 2675), which does not fit
    // into a frame.
    const uint32_t length = bytes < 8 ? 0 : Load16(l4 + 4);
    if (length < 8 || length > bytes) return flags | kRxL4Bad;
    // RFC 768: 0 means no checksum, which IPv6 does not allow (RFC 8200 section 8.1).
    if (Load16(l4 + 6) == 0) return headers.ip_version == 4 ? flags : flags | kRxL4Bad;
    bytes = length;
  } else if (bytes < 20) {
    return flags | kRxL4Bad;
  }
  return flags | (TransportChecksumGood(frame, headers, bytes) ? kRxL4Good : kRxL4Bad);
}

}  // namespace sluice::device::ipu::parsing
