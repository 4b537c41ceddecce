// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/datagram.h"

#include "packet/checksum.h"
#include "packet/parse.h"
#include "packet/rewrite.h"

namespace sluice::engine::kv {
namespace {

constexpr uint8_t kTtl = 64;
constexpr uint16_t kDontFragment = 0x4000;

uint64_t PseudoHeaderSum(const uint8_t* ip, bool ipv6, uint32_t udp_bytes) {
  return ipv6 ? packet::PseudoHeaderSumIpv6(ip, packet::kProtocolUdp, udp_bytes)
              : packet::PseudoHeaderSumIpv4(ip, packet::kProtocolUdp,
                                            static_cast<uint16_t>(udp_bytes));
}

}  // namespace

Datagram Datagram::In(const uint8_t* frame, uint32_t length) {
  const packet::Headers headers = packet::Parse(frame, length);
  Datagram found;
  if (headers.error != packet::ParseError::kNone) {
    found.kind = Kind::kMalformed;
    return found;
  }
  if (!headers.IsIp() || headers.protocol != packet::kProtocolUdp) return found;
  if (headers.IsFragment()) {
    found.kind = Kind::kFragment;
    return found;
  }
  found.ipv6 = headers.IsIpv6();
  const uint32_t ip_bytes =
      found.ipv6 ? packet::kIpv6HeaderBytes : packet::kIpv4MinHeaderBytes;
  if (headers.l4 != headers.l3 + ip_bytes) {
    found.kind = Kind::kOptions;
    return found;
  }
  found.l3 = headers.l3;
  found.payload = headers.l4 + packet::kUdpHeaderBytes;
  found.payload_bytes = headers.payload_bytes;
  found.port = packet::LoadBe16(frame + headers.l4 + 2);
  found.summed = packet::Load<uint16_t>(frame + headers.l4 + 6) != 0;
  found.kind = Kind::kUdp;
  const uint32_t udp_bytes = packet::kUdpHeaderBytes + found.payload_bytes;
  // RFC 8200 section 8.1: IPv6 has no UDP without a checksum.
  if (found.summed ? !packet::ChecksumHolds(
                         packet::SumBytes(frame + headers.l4, udp_bytes,
                                          PseudoHeaderSum(frame + headers.l3, found.ipv6,
                                                          udp_bytes)))
                   : found.ipv6) {
    found.kind = Kind::kBadChecksum;
  }
  return found;
}

void Datagram::Answer(uint8_t* frame, uint32_t bytes) const {
  packet::SwapMacs(frame);
  uint8_t* const ip = frame + l3;
  uint8_t* const udp = frame + l4();
  const uint32_t udp_bytes = packet::kUdpHeaderBytes + bytes;
  if (ipv6) {
    packet::SwapIpv6Addresses(ip);
    packet::StoreBe16(ip + 4, static_cast<uint16_t>(udp_bytes));
    ip[7] = kTtl;
  } else {
    packet::SwapIpv4Addresses(ip);
    packet::StoreBe16(ip + 2, static_cast<uint16_t>(packet::kIpv4MinHeaderBytes + udp_bytes));
    packet::StoreBe32(ip + 4, kDontFragment);  // Identification 0, RFC 6864.
    ip[8] = kTtl;
    packet::Store<uint16_t>(ip + 10, 0);
    packet::Store(ip + 10,
                  packet::FinishChecksum(packet::SumBytes(ip, packet::kIpv4MinHeaderBytes)));
  }
  packet::SwapPorts(udp);
  packet::StoreBe16(udp + 4, static_cast<uint16_t>(udp_bytes));
  packet::Store<uint16_t>(udp + 6, 0);
  if (!summed) return;
  const uint16_t sum = packet::FinishChecksum(
      packet::SumBytes(udp, udp_bytes, PseudoHeaderSum(ip, ipv6, udp_bytes)));
  packet::Store<uint16_t>(udp + 6, sum != 0 ? sum : 0xffff);
}

}  // namespace sluice::engine::kv
