// SPDX-License-Identifier: BSD-3-Clause
//
// One bounded pass over the headers of a frame: Ethernet, up to two VLAN tags,
// ARP, IPv4 with options, IPv6 with extension headers, UDP, TCP, ICMP and ICMPv6.
// Engines, steering and checkers read the frame through the offsets found here;
// every offset that a successful parse yields lies inside the frame.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::packet {

/// Why a frame could not be read to its end.
enum class ParseError : uint8_t {
  kNone,
  kEthernetTruncated,  ///< Shorter than Ethernet header and tags.
  kLlcLength,          ///< 802.3 length beyond the frame, below 3, or 1501…1535.
  kArpTruncated,       ///< Shorter than ARP for IPv4 over Ethernet.
  kIpv4Truncated,      ///< The frame ends inside the IPv4 header.
  kIpv4Version,        ///< EtherType says IPv4, version does not.
  kIpv4HeaderLength,   ///< Below 20 bytes, or beyond the total length.
  kIpv4TotalLength,    ///< Beyond the frame.
  kIpv4Options,        ///< An option without room for itself.
  kIpv6Truncated,      ///< The frame ends inside the IPv6 header.
  kIpv6Version,        ///< EtherType says IPv6, version does not.
  kIpv6PayloadLength,  ///< Beyond the frame.
  kIpv6Extension,      ///< An extension header leaves the packet, or more than eight of them.
  kFragmentRange,      ///< A fragment that reaches beyond 65535 bytes.
  kUdpTruncated,       ///< No room for the UDP header.
  kUdpLength,          ///< UDP length below 8, or beyond the packet.
  kTcpTruncated,       ///< No room for the TCP header.
  kTcpHeaderLength,    ///< TCP data offset below 20 bytes, or beyond the packet.
  kIcmpTruncated,      ///< No room for the 8-byte ICMP header.
};

/// Static text of an error, lower case, for counters and messages.
std::string_view ParseErrorName(ParseError error);

/// The network layer of a frame.
enum class Network : uint8_t { kOther, kArp, kIpv4, kIpv6 };

/// Where the parts of a frame are. Offsets count from the first byte of the
/// Ethernet header; numbers are in host order. After an error the fields of the
/// layers before it are valid and the others are 0.
struct Headers {
  ParseError error = ParseError::kNone;
  Network network = Network::kOther;
  /// Upper protocol behind options and extension headers. 0 unless IP.
  uint8_t protocol = 0;
  uint8_t vlan_tags = 0;      ///< 0…2.
  uint16_t vlan_tci[2] = {};  ///< Priority, DEI and id; the outer tag first.
  uint16_t ethertype = 0;     ///< Behind the tags; an 802.3 length as it is.
  /// A source route with stops ahead (IPv4 option, IPv6 routing header): the
  /// destination that the upper checksum covers is the last stop, not the one in
  /// the IP header.
  bool source_routed = false;
  bool more_fragments = false;
  uint32_t fragment_offset = 0;  ///< Bytes.
  uint32_t l3 = 0;               ///< First byte behind the EtherType.
  /// First byte of the UDP, TCP, ICMP or ICMPv6 header; 0 if there is none: other
  /// protocols, and fragments other than the first.
  uint32_t l4 = 0;
  /// First byte behind the headers that were understood.
  uint32_t payload = 0;
  /// By the innermost length field: neither Ethernet padding nor bytes between
  /// the end of UDP and that of IP. 0 if empty.
  uint32_t payload_bytes = 0;
  /// End of the IP packet, or of the frame if it is not IP.
  uint32_t end = 0;

  bool IsIpv6() const { return network == Network::kIpv6; }
  bool IsIp() const { return network == Network::kIpv4 || IsIpv6(); }
  bool IsFragment() const { return more_fragments || fragment_offset != 0; }
  bool IsLaterFragment() const { return fragment_offset != 0; }
  bool HasPorts() const { return l4 != 0 && (protocol == 17 || protocol == 6); }
  /// Offset of the UDP, TCP, ICMP or ICMPv6 checksum; 0 if there is none.
  uint32_t L4ChecksumOffset() const;
  /// True if the upper checksum covers the IP addresses.
  bool HasPseudoHeader() const { return l4 != 0 && !(network == Network::kIpv4 && protocol == 1); }
};

/// Reads the headers of the `length` bytes at `frame`; never beyond them.
/// Checksums are not verified.
Headers Parse(const uint8_t* frame, uint32_t length);

}  // namespace sluice::packet
