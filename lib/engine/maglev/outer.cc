// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/outer.h"

#include <cstring>

#include "packet/checksum.h"
#include "packet/ethernet.h"

namespace sluice::engine::maglev {
namespace {

using packet::Load;
using packet::Store;
using packet::StoreBe16;

constexpr uint8_t kProtocolIpv6 = 41;  // IPv6 in IP, RFC 2473.
constexpr uint8_t kProtocolGre = RowOf(Encapsulation::kGre).protocol;

// Returns the sum of the inner packet, from which the outer UDP checksum is computed without
// reading the payload. An intact IPv4 header sums to 0, and an intact upper layer sums to the
// complement of its pseudo-header. If the inner packet is corrupt, the outer checksum is also
// wrong. UDP without a checksum, fragments and other protocols are summed completely.
uint64_t SumOfInner(const uint8_t* frame, const packet::Headers& headers) {
  const uint8_t* const ip = frame + headers.l3;
  const uint32_t offset = headers.L4ChecksumOffset();
  const bool summed = offset != 0 && Load<uint16_t>(frame + offset) != 0 && !headers.IsFragment() &&
                      headers.HasPseudoHeader() && !headers.source_routed &&
                      (headers.protocol == packet::kProtocolTcp ||
                       headers.payload + headers.payload_bytes == headers.end);
  if (!summed) return packet::SumBytes(ip, headers.end - headers.l3);
  const uint32_t upper_bytes = headers.end - headers.l4;
  const uint64_t pseudo =
      headers.network == packet::Network::kIpv4
          ? packet::PseudoHeaderSumIpv4(ip, headers.protocol, static_cast<uint16_t>(upper_bytes))
          : packet::PseudoHeaderSumIpv6(ip, headers.protocol, upper_bytes);
  const uint64_t header_sum = packet::SumBytes(ip, headers.l4 - headers.l3);
  return header_sum + static_cast<uint16_t>(~packet::FoldSum(pseudo));
}

void FinishIpv4(uint8_t* ip, const Outer& outer, uint16_t total, uint8_t tos, Entropy entropy) {
  ip[1] = tos;
  StoreBe16(ip + 2, total);
  if (!outer.fixed_source) Store(ip + 14, entropy.Half());
  Store<uint16_t>(ip + 10, 0);
  Store(ip + 10, packet::FinishChecksum(packet::SumBytes(ip, packet::kIpv4MinHeaderBytes)));
}

void FinishIpv6(uint8_t* ip, const Outer& outer, uint16_t payload, uint8_t tos, Entropy entropy) {
  ip[0] = static_cast<uint8_t>(0x60 | tos >> 4);
  ip[1] = static_cast<uint8_t>(tos << 4);
  StoreBe16(ip + 4, payload);
  if (!outer.fixed_source) Store(ip + 20, entropy.Word());
}

// Completes the outer UDP header. `source_port` is in network order.
void FinishUdp(uint8_t* udp, const uint8_t* ip, const Outer& outer, uint16_t bytes,
               uint64_t inner_sum, uint16_t source_port) {
  StoreBe16(udp + 4, bytes);
  Store(udp, source_port);
  const uint64_t pseudo = outer.ipv6 ? packet::PseudoHeaderSumIpv6(ip, packet::kProtocolUdp, bytes)
                                     : packet::PseudoHeaderSumIpv4(ip, packet::kProtocolUdp, bytes);
  const uint16_t sum = packet::FinishChecksum(packet::SumBytes(udp, 6) + pseudo + inner_sum);
  Store<uint16_t>(udp + 6, sum != 0 ? sum : 0xffff);
}

}  // namespace

Outer MakeOuter(const Setup& setup, Encapsulation encapsulation, const BackendSetup& backend) {
  Outer outer;
  outer.next_hop = backend.mac ? *backend.mac : setup.next_hop.value_or(packet::MacAddress{});
  if (RewritesInPlace(encapsulation)) return outer;
  outer.ipv6 = backend.address.ipv6;
  outer.udp = encapsulation == Encapsulation::kGue;
  const std::optional<IpAddress>& source = outer.ipv6 ? setup.source_ipv6 : setup.source_ipv4;
  outer.fixed_source = source.has_value();
  uint8_t* const ip = outer.header.data();
  // The inner family is not known yet: Encapsulate writes the protocol of kIp and kGre.
  const uint8_t protocol = RowOf(encapsulation).protocol;
  if (outer.ipv6) {
    ip[6] = protocol;
    ip[7] = kTtl;
    if (source) {
      Store(ip + 8, source->bytes);
    } else {
      ip[8] = 0x01;  // 100::/64, RFC 6666: the discard prefix, as in Katran.
    }
    Store(ip + 24, backend.address.bytes);
  } else {
    ip[0] = 0x45;
    ip[8] = kTtl;
    ip[9] = protocol;
    if (source) {
      std::memcpy(ip + 12, source->bytes.data(), 4);
    } else {
      StoreBe16(ip + 12, kPrivatePrefix);
    }
    std::memcpy(ip + 16, backend.address.bytes.data(), 4);
  }
  const uint32_t ip_bytes = outer.ipv6 ? packet::kIpv6HeaderBytes : packet::kIpv4MinHeaderBytes;
  if (outer.udp) StoreBe16(ip + ip_bytes + 2, setup.gue_port);
  outer.header_bytes = static_cast<uint8_t>(OuterBytes(encapsulation, outer.ipv6));
  outer.plain = !outer.ipv6 && outer.header_bytes == ip_bytes && !source;
  if (outer.plain) ip[9] = kProtocolIpv4;
  return outer;
}

PlainOuter MakePlainOuter(const Outer& outer, uint32_t owner) {
  if (!outer.plain) return {};
  const uint8_t* const ip = outer.header.data();
  const uint64_t fixed = packet::SumBytes(ip + 2, packet::kIpv4MinHeaderBytes - 2);
  constexpr uint16_t kLessEtherType = ~__builtin_bswap16(packet::kEtherTypeIpv4);
  return {.next_hop = outer.next_hop,
          .sum_or_port = packet::FoldSum(fixed + kLessEtherType),
          .destination = Load<uint32_t>(ip + 16),
          .owner = owner};
}

void Encapsulate(packet::Frame& frame, const packet::Headers& headers, const Outer& outer,
                 Entropy entropy) {
  const uint8_t* const inner = frame.data + headers.l3;
  const uint32_t inner_bytes = headers.end - headers.l3;
  const bool inner_ipv6 = headers.IsIpv6();
  const uint8_t tos = inner_ipv6 ? static_cast<uint8_t>(packet::LoadBe16(inner) >> 4) : inner[1];
  const uint64_t inner_sum = outer.udp ? SumOfInner(frame.data, headers) : 0;

  uint8_t* const start = frame.data - outer.header_bytes;
  std::memmove(start, frame.data, headers.l3);
  Store(start + 6, Load<packet::MacAddress>(start));
  Store(start, outer.next_hop);
  StoreBe16(start + headers.l3 - 2, outer.ipv6 ? packet::kEtherTypeIpv6 : packet::kEtherTypeIpv4);

  uint8_t* const ip = start + headers.l3;
  std::memcpy(ip, outer.header.data(), outer.header_bytes);
  const uint32_t ip_bytes = outer.ipv6 ? packet::kIpv6HeaderBytes : packet::kIpv4MinHeaderBytes;
  uint8_t& protocol = ip[outer.ipv6 ? 6 : 9];
  if (!outer.udp && protocol != kProtocolGre) {
    protocol = inner_ipv6 ? kProtocolIpv6 : kProtocolIpv4;
  } else if (protocol == kProtocolGre) {
    StoreBe16(ip + ip_bytes + 2, inner_ipv6 ? packet::kEtherTypeIpv6 : packet::kEtherTypeIpv4);
  }
  const auto total = static_cast<uint16_t>(outer.header_bytes + inner_bytes);
  if (outer.ipv6) {
    FinishIpv6(ip, outer, static_cast<uint16_t>(total - ip_bytes), tos, entropy);
  } else {
    FinishIpv4(ip, outer, total, tos, entropy);
  }
  if (outer.udp) {
    FinishUdp(ip + ip_bytes, ip, outer, static_cast<uint16_t>(total - ip_bytes), inner_sum,
              outer.ipv6 ? entropy.PortInIpv6(inner_ipv6) : entropy.Half());
  }
  const uint32_t length = headers.end + outer.header_bytes;
  frame.tailroom += frame.length - headers.end;
  frame.headroom -= outer.header_bytes;
  frame.data = start;
  frame.length = length;
}

Entropy Entropy::Of(const packet::FlowKey& flow) {
  return {.source = Load<uint32_t>(flow.source.data() + (flow.ip_version == 6 ? 12 : 0)),
          .port = __builtin_bswap16(flow.source_port)};
}

}  // namespace sluice::engine::maglev
