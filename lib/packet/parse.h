// SPDX-License-Identifier: BSD-3-Clause
//
// Parses the headers of a frame in one bounded pass: Ethernet, up to two VLAN tags, ARP, IPv4 with
// options, IPv6 with extension headers, UDP, TCP, ICMP and ICMPv6. Engines, steering and checkers
// access the frame through the resulting offsets. If the parse succeeds, every offset is inside the
// frame.
#pragma once

#include <cstdint>

namespace sluice::packet {

/// Why a frame could not be parsed completely.
enum class ParseError : uint8_t {
  kNone,
  kEthernetTruncated,  ///< The frame ends inside the Ethernet header or the tags.
  kLlcLength,          ///< 802.3 length exceeds the frame, is below 3, or is 1501 … 1535.
  kArpTruncated,       ///< Shorter than ARP for IPv4 over Ethernet.
  kIpv4Truncated,      ///< The frame ends inside the IPv4 header.
  kIpv4Version,        ///< The EtherType is IPv4 but the version is not 4.
  kIpv4HeaderLength,   ///< The header length is below 20 bytes or exceeds the total length.
  kIpv4TotalLength,    ///< The total length exceeds the frame.
  kIpv4Options,        ///< An option exceeds the header.
  kIpv6Truncated,      ///< The frame ends inside the IPv6 header.
  kIpv6Version,        ///< The EtherType is IPv6 but the version is not 6.
  kIpv6PayloadLength,  ///< The payload length exceeds the frame.
  kIpv6Extension,      ///< An extension header exceeds the packet, or there are more than eight.
  kFragmentRange,      ///< The fragment extends beyond 65535 bytes.
  kUdpTruncated,       ///< Shorter than a UDP header.
  kUdpLength,          ///< The UDP length is below 8 or exceeds the packet.
  kTcpTruncated,       ///< Shorter than a TCP header.
  kTcpHeaderLength,    ///< The TCP data offset is below 20 bytes or exceeds the packet.
  kIcmpTruncated,      ///< Shorter than the 8-byte ICMP header.
};

/// The network layer of a frame.
enum class Network : uint8_t { kOther, kArp, kIpv4, kIpv6 };

/// Positions of the parts of a frame. Offsets are relative to the first byte of the Ethernet
/// header; numbers are in host order. After an error, the fields of the layers before it are valid
/// and the others are 0.
struct Headers {
  ParseError error = ParseError::kNone;
  Network network = Network::kOther;
  /// Upper-layer protocol after options and extension headers; 0 if not IP.
  uint8_t protocol = 0;
  uint8_t vlan_tags = 0;      ///< 0…2.
  uint16_t vlan_tci[2] = {};  ///< Priority, DEI and id of each tag, the outer tag first.
  uint16_t ethertype = 0;     ///< The type after the tags; may be an 802.3 length.
  /// The packet has a source route with remaining hops (IPv4 option, IPv6 routing header). The
  /// upper-layer checksum then covers the last hop instead of the destination in the IP header.
  bool source_routed = false;
  bool more_fragments = false;
  uint32_t fragment_offset = 0;  ///< Bytes.
  uint32_t l3 = 0;               ///< First byte after the EtherType.
  /// First byte of the UDP, TCP, ICMP or ICMPv6 header; 0 for other protocols and for fragments
  /// other than the first.
  uint32_t l4 = 0;
  /// First byte after the parsed headers.
  uint32_t payload = 0;
  /// Payload length according to the innermost length field. Excludes Ethernet padding and bytes
  /// between the end of UDP and the end of IP.
  uint32_t payload_bytes = 0;
  /// End of the IP packet, or of the frame if it is not IP.
  uint32_t end = 0;

  bool IsIpv6() const { return network == Network::kIpv6; }
  bool IsIp() const { return network == Network::kIpv4 || IsIpv6(); }
  bool IsFragment() const { return more_fragments || fragment_offset != 0; }
  bool IsLaterFragment() const { return fragment_offset != 0; }
  bool HasPorts() const { return l4 != 0 && (protocol == 17 || protocol == 6); }
  /// Offset of the UDP, TCP, ICMP or ICMPv6 checksum; 0 if absent.
  uint32_t L4ChecksumOffset() const;
  /// Returns true if the upper-layer checksum covers the IP addresses.
  bool HasPseudoHeader() const { return l4 != 0 && !(network == Network::kIpv4 && protocol == 1); }
  bool operator==(const Headers&) const = default;
};

/// Parses the headers in the `length` bytes at `frame`, and reads no other bytes. Checksums are not
/// verified.
Headers Parse(const uint8_t* frame, uint32_t length);

}  // namespace sluice::packet
