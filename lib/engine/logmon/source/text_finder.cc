// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/source/text_finder.h"

#include <optional>

#include "packet/parse.h"

namespace sluice::engine::logmon {

TextFinder::TextFinder(std::span<const uint16_t> syslog_ports, std::span<const uint16_t> line_ports,
                       std::span<const uint16_t> tcp_ports,
                       std::span<const uint16_t> syslog_tcp_ports)
    : uses_(65536) {
  for (const uint16_t port : line_ports) uses_[port] |= kLines;
  for (const uint16_t port : syslog_ports) uses_[port] = kSyslog;
  for (const uint16_t port : tcp_ports) uses_[port] |= kTcp;
  for (const uint16_t port : syslog_tcp_ports) uses_[port] |= kTcpSyslog;
}

void TextFinder::FindAny(const uint8_t* frame, uint32_t length, FoundText& found) const {
  const packet::Headers headers = packet::Parse(frame, length);
  found.kind = FoundText::Kind::kOther;
  if (headers.error != packet::ParseError::kNone) {
    found.kind = FoundText::Kind::kMalformed;
    return;
  }
  const bool tcp = headers.protocol == packet::kProtocolTcp;
  if (!headers.IsIp() || !(tcp || headers.protocol == packet::kProtocolUdp)) return;
  if (headers.IsFragment()) {
    found.kind = FoundText::Kind::kFragment;
    return;
  }
  const std::optional<packet::FlowKey> flow = packet::FlowKey::Of(frame, headers);
  if (!flow || headers.source_routed) return;
  found.flow = *flow;
  if (UseOf(frame + headers.l4, tcp) == kNone) {
    if (tcp && IsOfReceiver(frame + headers.l4)) ReadWindow(frame + headers.l4, found);
    return;
  }
  Read(frame,
       {.l3 = headers.l3,
        .l4 = headers.l4,
        .end = headers.end,
        .tcp = tcp,
        .ipv6 = headers.IsIpv6()},
       found);
}

void TextFinder::ReadWindow(const uint8_t* l4, FoundText& found) {
  constexpr uint8_t kAck = 0x10;
  if ((l4[13] & kAck) == 0) return;
  found.kind = FoundText::Kind::kWindow;
  found.flow = found.flow.Reversed();
  found.window = {.acknowledged = packet::LoadBe32(l4 + 8),
                  .window = packet::LoadBe16(l4 + 14),
                  .syn = (l4[13] & TcpSegment::kSyn) != 0};
  // RFC 7323 section 2.2: kind 3, length 3, the shift count. Kinds 0 and 1 have no length.
  const uint32_t end = uint32_t{l4[12]} >> 4 << 2;
  for (uint32_t at = packet::kTcpMinHeaderBytes; at < end && l4[at] != 0;) {
    if (l4[at] == 1) {
      ++at;
      continue;
    }
    if (at + 2 > end || l4[at + 1] < 2 || at + l4[at + 1] > end) return;
    if (l4[at] == 3 && l4[at + 1] == 3) found.window.shift = l4[at + 2];
    at += l4[at + 1];
  }
}

}  // namespace sluice::engine::logmon
