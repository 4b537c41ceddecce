// SPDX-License-Identifier: BSD-3-Clause
#include "net_enso/enso_checksum.h"

#include <netinet/in.h>

#include "packet/bytes.h"
#include "packet/checksum.h"

namespace sluice::net_enso {
namespace {

constexpr uint32_t kIpv4Bytes = 20, kIpv6Bytes = 40, kUdpBytes = 8, kTcpBytes = 20;

/// Fills in the UDP or TCP checksum of the header at `l4`; the header and its payload have `bytes`
/// bytes. Returns false if `kind` is unknown or the header is incomplete.
bool FillTransport(uint64_t kind, const uint8_t* ip, bool is_ipv6, uint8_t* l4, uint32_t bytes) {
  const bool udp = kind == RTE_MBUF_F_TX_UDP_CKSUM;
  if (!udp && kind != RTE_MBUF_F_TX_TCP_CKSUM) return false;
  if (bytes < (udp ? kUdpBytes : kTcpBytes)) return false;
  uint8_t* const field = l4 + (udp ? 6 : 16);
  const uint8_t protocol = udp ? IPPROTO_UDP : IPPROTO_TCP;
  packet::Store<uint16_t>(field, 0);
  const uint64_t pseudo =
      is_ipv6 ? packet::PseudoHeaderSumIpv6(ip, protocol, bytes)
              : packet::PseudoHeaderSumIpv4(ip, protocol, static_cast<uint16_t>(bytes));
  const uint16_t checksum = packet::FinishChecksum(packet::SumBytes(l4, bytes, pseudo));
  // RFC 768: 0 means that no checksum was computed, so 0 is sent as 0xffff.
  packet::Store<uint16_t>(field, udp && checksum == 0 ? 0xffff : checksum);
  return true;
}

}  // namespace

bool FillChecksums(const rte_mbuf& mbuf, uint8_t* frame) {
  const bool is_ipv6 = (mbuf.ol_flags & RTE_MBUF_F_TX_IPV6) != 0;
  const uint32_t l3 = mbuf.l2_len, l3_bytes = mbuf.l3_len, l4 = l3 + l3_bytes;
  if (l3_bytes < (is_ipv6 ? kIpv6Bytes : kIpv4Bytes) || l4 > mbuf.pkt_len) return false;
  uint8_t* const ip = frame + l3;
  if (ip[0] >> 4 != (is_ipv6 ? 6 : 4)) return false;
  const uint64_t kind = mbuf.ol_flags & RTE_MBUF_F_TX_L4_MASK;
  if (kind != 0) {
    const uint32_t ip_bytes =
        is_ipv6 ? kIpv6Bytes + packet::LoadBe16(ip + 4) : packet::LoadBe16(ip + 2);
    if (ip_bytes < l3_bytes || l3 + ip_bytes > mbuf.pkt_len) return false;
    if (!FillTransport(kind, ip, is_ipv6, frame + l4, ip_bytes - l3_bytes)) return false;
  }
  if (mbuf.ol_flags & RTE_MBUF_F_TX_IP_CKSUM) {
    if (is_ipv6) return false;
    packet::Store<uint16_t>(ip + 10, 0);
    packet::Store<uint16_t>(ip + 10, packet::FinishChecksum(packet::SumBytes(ip, l3_bytes)));
  }
  return true;
}

}  // namespace sluice::net_enso
