// SPDX-License-Identifier: BSD-3-Clause
#include "packet/datagram.h"

#include "packet/checksum.h"
#include "packet/parse.h"
#include "packet/rewrite.h"

namespace sluice::packet {
namespace {

// Returns the sum of the UDP datagram at `udp` and of the pseudo-header for the IP header at `ip`.
uint64_t Sum(const uint8_t* ip, bool ipv6, const uint8_t* udp, uint32_t udp_bytes) {
  return SumBytes(udp, udp_bytes,
                  ipv6 ? PseudoHeaderSumIpv6(ip, kProtocolUdp, udp_bytes)
                       : PseudoHeaderSumIpv4(ip, kProtocolUdp, static_cast<uint16_t>(udp_bytes)));
}

}  // namespace

Datagram Datagram::InAny(const uint8_t* frame, uint32_t length) {
  const Headers headers = Parse(frame, length);
  Datagram found;
  if (headers.error != ParseError::kNone) {
    found.kind = Kind::kMalformed;
    return found;
  }
  if (!headers.IsIp() || headers.protocol != kProtocolUdp) return found;
  if (headers.IsFragment()) {
    found.kind = Kind::kFragment;
    return found;
  }
  found.ipv6 = headers.IsIpv6();
  const uint32_t ip_bytes = found.ipv6 ? kIpv6HeaderBytes : kIpv4MinHeaderBytes;
  if (headers.l4 != headers.l3 + ip_bytes) {
    found.kind = Kind::kOptions;
    return found;
  }
  found.l3 = headers.l3;
  found.payload = headers.l4 + kUdpHeaderBytes;
  found.payload_bytes = headers.payload_bytes;
  found.port = LoadBe16(frame + headers.l4 + 2);
  found.summed = Load<uint16_t>(frame + headers.l4 + 6) != 0;
  found.kind = Kind::kUdp;
  if (found.summed) {
    found.CheckSum(frame);
  } else if (found.ipv6) {
    found.kind = Kind::kBadChecksum;  // RFC 8200 section 8.1: UDP over IPv6 requires a checksum.
  }
  return found;
}

void Datagram::CheckSum(const uint8_t* frame) {
  const uint64_t sum = Sum(frame + l3, ipv6, frame + l4(), kUdpHeaderBytes + payload_bytes);
  if (!ChecksumHolds(sum)) kind = Kind::kBadChecksum;
}

void Datagram::AnswerIpv6(uint8_t* ip, uint32_t bytes) {
  SwapIpv6Addresses(ip);
  StoreBe16(ip + 4, static_cast<uint16_t>(kUdpHeaderBytes + bytes));
  ip[7] = kTtl;
}

void Datagram::AddChecksum(uint8_t* frame, uint32_t bytes) const {
  uint8_t* const udp = frame + l4();
  const uint16_t sum = FinishChecksum(Sum(frame + l3, ipv6, udp, kUdpHeaderBytes + bytes));
  Store<uint16_t>(udp + 6, sum != 0 ? sum : 0xffff);
}

}  // namespace sluice::packet
