// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/datagram.h"

#include "packet/checksum.h"
#include "packet/parse.h"
#include "packet/rewrite.h"

namespace sluice::engine::kv {
namespace {

// Of the UDP datagram behind the IP header at `ip`, and its pseudo-header.
uint64_t Sum(const uint8_t* ip, bool ipv6, const uint8_t* udp, uint32_t udp_bytes) {
  return packet::SumBytes(
      udp, udp_bytes,
      ipv6 ? packet::PseudoHeaderSumIpv6(ip, packet::kProtocolUdp, udp_bytes)
           : packet::PseudoHeaderSumIpv4(ip, packet::kProtocolUdp,
                                         static_cast<uint16_t>(udp_bytes)));
}

}  // namespace

Datagram Datagram::InAny(const uint8_t* frame, uint32_t length) {
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
  if (found.summed) {
    found.CheckSum(frame);
  } else if (found.ipv6) {
    found.kind = Kind::kBadChecksum;  // RFC 8200 section 8.1: there is no UDP without one.
  }
  return found;
}

void Datagram::CheckSum(const uint8_t* frame) {
  const uint64_t sum =
      Sum(frame + l3, ipv6, frame + l4(), packet::kUdpHeaderBytes + payload_bytes);
  if (!packet::ChecksumHolds(sum)) kind = Kind::kBadChecksum;
}

void Datagram::AnswerIpv6(uint8_t* ip, uint32_t bytes) {
  packet::SwapIpv6Addresses(ip);
  packet::StoreBe16(ip + 4, static_cast<uint16_t>(packet::kUdpHeaderBytes + bytes));
  ip[7] = kTtl;
}

void Datagram::AddChecksum(uint8_t* frame, uint32_t bytes) const {
  uint8_t* const udp = frame + l4();
  const uint16_t sum =
      packet::FinishChecksum(Sum(frame + l3, ipv6, udp, packet::kUdpHeaderBytes + bytes));
  packet::Store<uint16_t>(udp + 6, sum != 0 ? sum : 0xffff);
}

}  // namespace sluice::engine::kv
