// SPDX-License-Identifier: BSD-3-Clause
//
// Constants of the supported headers: IEEE 802.3 and 802.1Q, and IANA's EtherTypes and protocol
// numbers. All are in host order.
#pragma once

#include <cstdint>

namespace sluice::packet {

inline constexpr uint32_t kEthernetHeaderBytes = 14;
inline constexpr uint32_t kVlanTagBytes = 4;
/// Maximum number of tags that are parsed: 802.1ad has a service and a customer tag.
inline constexpr uint32_t kMaxVlanTags = 2;
inline constexpr uint32_t kIpv4MinHeaderBytes = 20;
inline constexpr uint32_t kIpv6HeaderBytes = 40;
inline constexpr uint32_t kUdpHeaderBytes = 8;
inline constexpr uint32_t kTcpMinHeaderBytes = 20;
/// Type, code, checksum, and the four bytes that echo messages use for identifier and sequence
/// number.
inline constexpr uint32_t kIcmpHeaderBytes = 8;
/// ARP for IPv4 over Ethernet, RFC 826.
inline constexpr uint32_t kArpBytes = 28;

inline constexpr uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr uint16_t kEtherTypeArp = 0x0806;
inline constexpr uint16_t kEtherTypeVlan = 0x8100;  ///< 802.1Q customer tag.
inline constexpr uint16_t kEtherTypeIpv6 = 0x86dd;
inline constexpr uint16_t kEtherTypeQinQ = 0x88a8;     ///< 802.1ad service tag.
inline constexpr uint16_t kEtherTypeQinQOld = 0x9100;  ///< Pre-802.1ad service tag, still in use.

/// IEEE 802.3 clause 3.2.6: a value of at most kMaxLlcBytes is the length of an LLC frame, a value
/// of at least kMinEtherType is a type, and values between them are undefined.
inline constexpr uint16_t kMaxLlcBytes = 1500;
inline constexpr uint16_t kMinEtherType = 1536;
/// DSAP, SSAP and control: the minimum length of an LLC frame.
inline constexpr uint16_t kMinLlcBytes = 3;

inline constexpr uint8_t kProtocolHopByHop = 0;
inline constexpr uint8_t kProtocolIcmp = 1;
inline constexpr uint8_t kProtocolTcp = 6;
inline constexpr uint8_t kProtocolUdp = 17;
inline constexpr uint8_t kProtocolRouting = 43;
inline constexpr uint8_t kProtocolFragment = 44;
inline constexpr uint8_t kProtocolAuthentication = 51;
inline constexpr uint8_t kProtocolIcmpv6 = 58;
inline constexpr uint8_t kProtocolNone = 59;
inline constexpr uint8_t kProtocolDestinationOptions = 60;
inline constexpr uint8_t kProtocolMobility = 135;
inline constexpr uint8_t kProtocolHip = 139;
inline constexpr uint8_t kProtocolShim6 = 140;

inline constexpr uint8_t kIpv4OptionEnd = 0;
inline constexpr uint8_t kIpv4OptionNone = 1;
inline constexpr uint8_t kIpv4OptionLooseRoute = 131;
inline constexpr uint8_t kIpv4OptionStrictRoute = 137;

constexpr bool IsVlanTag(uint16_t ethertype) {
  return ethertype == kEtherTypeVlan || ethertype == kEtherTypeQinQ ||
         ethertype == kEtherTypeQinQOld;
}

}  // namespace sluice::packet
