// SPDX-License-Identifier: BSD-3-Clause
#include "engine/echo/echo.h"

#include "packet/parse.h"
#include "packet/rewrite.h"

namespace sluice::engine {
namespace {

using packet::Headers;
using packet::Load;
using packet::Network;

bool IsGroupMac(const uint8_t* mac) { return (mac[0] & 1) != 0; }
/// Returns whether the address is multicast, reserved or limited broadcast: 224.0.0.0 and above.
bool IsGroupIpv4(const uint8_t* address) { return address[0] >= 224; }
bool IsGroupIpv6(const uint8_t* address) { return address[0] == 0xff; }

}  // namespace

void IncrementEcho::IncrementOther(uint8_t* frame, uint32_t length) {
  // Process has already determined that the datagram has no payload.
  if (length > kUdpPayload && packet::LeadingWord::Of(frame).IsPlainIpv4() &&
      frame[kProtocolOffset] == packet::kProtocolUdp) {
    return;
  }
  // TCP over plain IPv4 is common, so this path avoids the parser.
  constexpr uint32_t kTcp = packet::kEthernetHeaderBytes + packet::kIpv4MinHeaderBytes;
  constexpr uint32_t kMinPayload = kTcp + packet::kTcpMinHeaderBytes;
  if (length >= kMinPayload && frame[kProtocolOffset] == packet::kProtocolTcp) {
    const packet::LeadingWord word = packet::LeadingWord::Of(frame);
    const uint32_t end = word.TotalLength() + packet::kEthernetHeaderBytes;
    const uint32_t payload = kTcp + (frame[kTcp + 12] >> 4) * 4;
    const bool first = (packet::LoadBe16(frame + 20) & 0x1fff) == 0;  // Fragment offset.
    if (word.IsPlainIpv4() && first && payload >= kMinPayload && payload <= end && end <= length) {
      if (payload < end) ++frame[payload];
      return;
    }
  }
  const Headers headers = packet::Parse(frame, length);
  if (headers.payload_bytes != 0) ++frame[headers.payload];
}

packet::Verdict ReflectEcho::ReflectOther(uint8_t* frame, uint32_t length) {
  const Headers headers = packet::Parse(frame, length);
  if (headers.error != packet::ParseError::kNone) return packet::Drop(kMalformed);
  if (IsGroupMac(frame)) return packet::Drop(kGroupDestination);
  if (IsGroupMac(frame + 6)) return packet::Drop(kGroupSource);
  if (headers.source_routed) return packet::Drop(kSourceRouted);
  uint8_t* ip = frame + headers.l3;
  switch (headers.network) {
    case Network::kIpv4:
      if (IsGroupIpv4(ip + 16)) return packet::Drop(kGroupDestination);
      if (IsGroupIpv4(ip + 12)) return packet::Drop(kGroupSource);
      packet::SwapIpv4Addresses(ip);
      break;
    case Network::kIpv6:
      if (IsGroupIpv6(ip + 24)) return packet::Drop(kGroupDestination);
      if (IsGroupIpv6(ip + 8)) return packet::Drop(kGroupSource);
      packet::SwapIpv6Addresses(ip);
      break;
    default:
      break;
  }
  packet::SwapMacs(frame);
  if (headers.HasPorts()) packet::SwapPorts(frame + headers.l4);
  if (headers.payload_bytes != 0 && !headers.IsLaterFragment()) {
    uint8_t& byte = frame[headers.payload];
    // The payload starts at an even offset of the checksummed bytes, so this byte is the first byte
    // in memory of its 16-bit word.
    const uint8_t old_byte = byte++;
    packet::RepairL4Checksum(frame, headers, old_byte, byte);
  }
  return packet::kForward;
}

}  // namespace sluice::engine
