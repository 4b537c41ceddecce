// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/source/text_finder.h"

#include <optional>

#include "packet/parse.h"

namespace sluice::engine::logmon {
namespace {

/// Of the `bytes` bytes of a UDP or TCP packet at `l4`.
bool SumHolds(const uint8_t* ip, bool ipv6, uint8_t protocol, const uint8_t* l4, uint32_t bytes) {
  const uint64_t pseudo =
      ipv6 ? packet::PseudoHeaderSumIpv6(ip, protocol, bytes)
           : packet::PseudoHeaderSumIpv4(ip, protocol, static_cast<uint16_t>(bytes));
  return packet::ChecksumHolds(packet::SumBytes(l4, bytes, pseudo));
}

}  // namespace

TextFinder::TextFinder(std::span<const uint16_t> syslog_ports,
                       std::span<const uint16_t> line_ports, std::span<const uint16_t> tcp_ports)
    : uses_(65536) {
  for (const uint16_t port : line_ports) uses_[port] |= kLines;
  for (const uint16_t port : syslog_ports) uses_[port] = kSyslog;
  for (const uint16_t port : tcp_ports) uses_[port] |= kTcp;
}

FoundText TextFinder::FindAny(const uint8_t* frame, uint32_t length) const {
  const packet::Headers headers = packet::Parse(frame, length);
  FoundText found;
  if (headers.error != packet::ParseError::kNone) {
    found.kind = FoundText::Kind::kMalformed;
    return found;
  }
  const bool tcp = headers.protocol == packet::kProtocolTcp;
  if (!headers.IsIp() || !(tcp || headers.protocol == packet::kProtocolUdp)) return found;
  if (headers.IsFragment()) {
    found.kind = FoundText::Kind::kFragment;
    return found;
  }
  const std::optional<packet::FlowKey> flow = packet::FlowKey::Of(frame, headers);
  if (!flow || headers.source_routed || UseOf(frame + headers.l4, tcp) == kNone) return found;
  return Check(frame, {.l3 = headers.l3, .l4 = headers.l4, .end = headers.end, .tcp = tcp,
                       .ipv6 = headers.IsIpv6(), .flow = *flow});
}

FoundText TextFinder::Check(const uint8_t* frame, const Packet& packet) const {
  FoundText found;
  found.flow = packet.flow;
  const uint8_t* const l4 = frame + packet.l4;
  const uint8_t* const ip = frame + packet.l3;
  bool holds;
  if (packet.tcp) {
    const uint32_t header = uint32_t{l4[12]} >> 4 << 2;
    found.transport = Transport::kTcp;
    found.tcp_flags = l4[13];
    found.sequence = packet::LoadBe32(l4 + 4);
    found.payload = packet.l4 + header;
    found.payload_bytes = packet.end - found.payload;
    holds = SumHolds(ip, packet.ipv6, packet::kProtocolTcp, l4, packet.end - packet.l4);
  } else {
    const bool syslog = (UseOf(l4, false) & kSyslog) != 0;
    const uint32_t bytes = packet::LoadBe16(l4 + 4);
    found.transport = syslog ? Transport::kSyslog : Transport::kLines;
    found.payload = packet.l4 + packet::kUdpHeaderBytes;
    found.payload_bytes = bytes - packet::kUdpHeaderBytes;
    // RFC 768: 0 is no checksum. RFC 8200 section 8.1: IPv6 has no UDP without one.
    const bool summed = packet::Load<uint16_t>(l4 + 6) != 0;
    holds = summed ? SumHolds(ip, packet.ipv6, packet::kProtocolUdp, l4, bytes) : !packet.ipv6;
  }
  found.kind = holds ? FoundText::Kind::kText : FoundText::Kind::kBadChecksum;
  return found;
}

}  // namespace sluice::engine::logmon
