// SPDX-License-Identifier: BSD-3-Clause
#include "net_enso/enso_describe.h"

#include <netinet/in.h>
#include <rte_ether.h>

#include "net_enso/enso_flow_table.h"
#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/parse.h"

namespace sluice::net_enso {
namespace {

using packet::Headers;
using packet::Network;
using packet::ParseError;

/// Returns the link type of the outer tag, as defined in rte_mbuf_ptype.h.
uint32_t LinkType(const uint8_t* frame, const Headers& headers) {
  if (headers.vlan_tags != 0) {
    const bool service = packet::LoadBe16(frame + 12) == RTE_ETHER_TYPE_QINQ;
    return service ? RTE_PTYPE_L2_ETHER_QINQ : RTE_PTYPE_L2_ETHER_VLAN;
  }
  return headers.network == Network::kArp ? RTE_PTYPE_L2_ETHER_ARP : RTE_PTYPE_L2_ETHER;
}

uint32_t NetworkType(const uint8_t* frame, const Headers& headers) {
  const uint8_t* const ip = frame + headers.l3;
  if (headers.network == Network::kIpv4) {
    return (ip[0] & 0xf) == 5 ? RTE_PTYPE_L3_IPV4 : RTE_PTYPE_L3_IPV4_EXT;
  }
  return ip[6] == headers.protocol ? RTE_PTYPE_L3_IPV6 : RTE_PTYPE_L3_IPV6_EXT;
}

uint32_t TransportType(const Headers& headers) {
  if (headers.IsFragment()) return RTE_PTYPE_L4_FRAG;
  switch (headers.protocol) {
    case IPPROTO_TCP:
      return RTE_PTYPE_L4_TCP;
    case IPPROTO_UDP:
      return RTE_PTYPE_L4_UDP;
    case IPPROTO_SCTP:
      return RTE_PTYPE_L4_SCTP;
    case IPPROTO_ICMP:
      return headers.IsIpv6() ? RTE_PTYPE_L4_NONFRAG : RTE_PTYPE_L4_ICMP;
    case IPPROTO_ICMPV6:
      return headers.IsIpv6() ? RTE_PTYPE_L4_ICMP : RTE_PTYPE_L4_NONFRAG;
    default:
      return RTE_PTYPE_L4_NONFRAG;
  }
}

uint32_t PacketType(const uint8_t* frame, const Headers& headers) {
  uint32_t type = LinkType(frame, headers);
  if (headers.IsIp() && headers.error == ParseError::kNone) {
    type |= NetworkType(frame, headers) | TransportType(headers);
  }
  return type;
}

uint64_t IpFlags(const uint8_t* ip) {
  const uint32_t bytes = (ip[0] & 0xfu) * 4;
  return packet::ChecksumHolds(packet::SumBytes(ip, bytes)) ? RTE_MBUF_F_RX_IP_CKSUM_GOOD
                                                            : RTE_MBUF_F_RX_IP_CKSUM_BAD;
}

/// Returns the checksum flags for a complete UDP or TCP packet.
uint64_t TransportFlags(const uint8_t* frame, const Headers& headers) {
  const uint8_t* const ip = frame + headers.l3;
  const uint8_t* const l4 = frame + headers.l4;
  const uint32_t bytes = headers.payload - headers.l4 + headers.payload_bytes;
  // Over IPv4, a UDP checksum of 0 means that none was computed (RFC 768); over IPv6 it is invalid.
  if (headers.protocol == IPPROTO_UDP && packet::LoadBe16(l4 + 6) == 0) {
    return headers.IsIpv6() ? RTE_MBUF_F_RX_L4_CKSUM_BAD : RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN;
  }
  const uint64_t pseudo =
      headers.IsIpv6()
          ? packet::PseudoHeaderSumIpv6(ip, headers.protocol, bytes)
          : packet::PseudoHeaderSumIpv4(ip, headers.protocol, static_cast<uint16_t>(bytes));
  return packet::ChecksumHolds(packet::SumBytes(l4, bytes, pseudo)) ? RTE_MBUF_F_RX_L4_CKSUM_GOOD
                                                                    : RTE_MBUF_F_RX_L4_CKSUM_BAD;
}

/// Returns whether the error is an invalid UDP or TCP header in a complete datagram: the UDP length
/// is less than that of the UDP header or exceeds the packet. A UDP length of 0 is used by
/// jumbograms (RFC 2675), which are not Ethernet frames.
bool IsUnsound(ParseError error) {
  return error == ParseError::kUdpTruncated || error == ParseError::kUdpLength ||
         error == ParseError::kTcpTruncated;
}

uint64_t ChecksumFlags(const Wanted& wanted, const uint8_t* frame, const Headers& headers) {
  if (!headers.IsIp()) return 0;
  uint64_t flags = 0;
  if (wanted.ip_checksum && !headers.IsIpv6()) flags |= IpFlags(frame + headers.l3);
  const bool transport = (wanted.udp_checksum && headers.protocol == IPPROTO_UDP) ||
                         (wanted.tcp_checksum && headers.protocol == IPPROTO_TCP);
  if (!transport || headers.IsFragment() || headers.source_routed) return flags;
  if (IsUnsound(headers.error)) return flags | RTE_MBUF_F_RX_L4_CKSUM_BAD;
  const bool whole = headers.error == ParseError::kNone && headers.HasPorts();
  return whole ? flags | TransportFlags(frame, headers) : flags;
}

}  // namespace

const uint32_t kPacketTypes[] = {
    RTE_PTYPE_L2_ETHER, RTE_PTYPE_L2_ETHER_ARP, RTE_PTYPE_L2_ETHER_VLAN, RTE_PTYPE_L2_ETHER_QINQ,
    RTE_PTYPE_L3_IPV4,  RTE_PTYPE_L3_IPV4_EXT,  RTE_PTYPE_L3_IPV6,       RTE_PTYPE_L3_IPV6_EXT,
    RTE_PTYPE_L4_TCP,   RTE_PTYPE_L4_UDP,       RTE_PTYPE_L4_FRAG,       RTE_PTYPE_L4_SCTP,
    RTE_PTYPE_L4_ICMP,  RTE_PTYPE_L4_NONFRAG,   RTE_PTYPE_UNKNOWN};

void Describe(const Wanted& wanted, const uint8_t* frame, uint32_t length, rte_mbuf* mbuf) {
  if (wanted.hash) {
    mbuf->hash.rss = regs::enso::FlowHash(KeyOfFrame(frame), 0);
    mbuf->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
  }
  if (!wanted.NeedsHeaders()) return;
  const Headers headers = packet::Parse(frame, length);
  mbuf->packet_type = PacketType(frame, headers) & wanted.packet_types;
  mbuf->ol_flags |= ChecksumFlags(wanted, frame, headers);
}

}  // namespace sluice::net_enso
