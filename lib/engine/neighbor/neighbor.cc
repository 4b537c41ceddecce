// SPDX-License-Identifier: BSD-3-Clause
#include "engine/neighbor/neighbor.h"

#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/host_address.h"
#include "packet/parse.h"

namespace sluice::engine {
namespace {

using packet::Headers;
using packet::Ipv4Address;
using packet::Ipv6Address;
using packet::Load;
using packet::LoadBe16;
using packet::MacAddress;
using packet::Store;
using packet::StoreBe16;
using packet::Verdict;

constexpr MacAddress kBroadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr MacAddress kAllNodesMac{0x33, 0x33, 0, 0, 0, 1};
constexpr Ipv6Address kAllNodes{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr Ipv6Address kUnspecified{};
constexpr Ipv4Address kUnspecifiedIpv4{};

constexpr uint8_t kTtl = 64;  // Recommended by RFC 1700 for IPv4, and Linux's default for IPv6.
constexpr uint8_t kEchoRequest = 8, kEchoReply = 0;
constexpr uint8_t kEchoRequestIpv6 = 128, kEchoReplyIpv6 = 129;
constexpr uint8_t kSolicitation = 135, kAdvertisement = 136;
constexpr uint8_t kSourceLinkAddress = 1, kTargetLinkAddress = 2;  // Neighbor Discovery options.
constexpr uint32_t kSolicitationBytes = 24;                        // Without options.
constexpr uint32_t kAdvertisementBytes = 32;  // Includes a target link-layer address.
constexpr uint16_t kArpEthernet = 1, kArpRequest = 1, kArpReply = 2;

/// Returns ff02::1:ffXX:XXXX with the last three bytes of `address` (RFC 4291).
Ipv6Address SolicitedNode(const Ipv6Address& address) {
  return {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, address[13], address[14], address[15]};
}

/// Returns the MAC address for an IPv6 multicast address (RFC 2464).
MacAddress MulticastMac(const Ipv6Address& group) {
  return {0x33, 0x33, group[12], group[13], group[14], group[15]};
}

/// Checks the options of a solicitation: the length of each, in units of 8 bytes, must not be 0 or
/// exceed the packet. Sets `source_link_address` if there is such an option.
bool ReadOptions(const uint8_t* options, uint32_t bytes, bool* source_link_address) {
  *source_link_address = false;
  while (bytes != 0) {
    if (bytes < 8) return false;
    const uint32_t size = options[1] * 8u;
    if (size == 0 || size > bytes) return false;
    if (options[0] == kSourceLinkAddress) *source_link_address = true;
    options += size;
    bytes -= size;
  }
  return true;
}

uint32_t UpperBytes(const Headers& headers) { return headers.end - headers.l4; }

uint64_t Icmpv6Sum(const uint8_t* frame, const Headers& headers) {
  return packet::SumBytes(frame + headers.l4, UpperBytes(headers),
                          packet::PseudoHeaderSumIpv6(frame + headers.l3, packet::kProtocolIcmpv6,
                                                      UpperBytes(headers)));
}

}  // namespace

Neighbor::Outcome Neighbor::Answer(uint8_t* frame, uint32_t length, uint32_t tailroom) const {
  const Outcome not_mine{packet::kForward, false, length};
  const Headers headers = packet::Parse(frame, length);
  if (headers.error != packet::ParseError::kNone) return not_mine;
  if (headers.network == packet::Network::kArp) return AnswerArp(frame, length, headers);
  if (headers.l4 == 0 || headers.IsFragment()) return not_mine;
  const uint8_t type = frame[headers.l4];
  if (headers.network == packet::Network::kIpv4) {
    if (headers.protocol != packet::kProtocolIcmp || type != kEchoRequest) return not_mine;
    return AnswerEcho(frame, length, headers);
  }
  if (headers.protocol != packet::kProtocolIcmpv6) return not_mine;
  if (type == kSolicitation) return AnswerSolicitation(frame, length, tailroom, headers);
  if (type == kEchoRequestIpv6) return AnswerEchoIpv6(frame, length, headers);
  return not_mine;
}

Neighbor::Outcome Neighbor::AnswerArp(uint8_t* frame, uint32_t length,
                                      const Headers& headers) const {
  const Outcome not_mine{packet::kForward, false, length};
  uint8_t* arp = frame + headers.l3;
  if (LoadBe16(arp) != kArpEthernet || LoadBe16(arp + 2) != packet::kEtherTypeIpv4 || arp[4] != 6 ||
      arp[5] != 4 || LoadBe16(arp + 6) != kArpRequest) {
    return not_mine;
  }
  if (!own_.IsOurMac(frame) && Load<MacAddress>(frame) != kBroadcast) return not_mine;
  const auto target = Load<Ipv4Address>(arp + 24);
  if (!own_.Owns(target)) return not_mine;
  const auto asker_mac = Load<MacAddress>(arp + 8);
  const auto asker = Load<Ipv4Address>(arp + 14);
  // A probe (RFC 5227) has sender 0.0.0.0 and is answered. A request with our address as sender is
  // an announcement and is not answered.
  if (!packet::IsHostMac(asker_mac.data()) || !packet::IsHostMac(frame + 6) || own_.Owns(asker) ||
      (asker != kUnspecifiedIpv4 && !packet::IsHost(asker))) {
    return {packet::Drop(kBadSource), true, length};
  }
  StoreBe16(arp + 6, kArpReply);
  Store(arp + 8, own_.mac());
  Store(arp + 14, target);
  Store(arp + 18, asker_mac);
  Store(arp + 24, asker);
  packet::SetMac(frame, packet::End::kDestination, asker_mac);
  packet::SetMac(frame, packet::End::kSource, own_.mac());
  return {packet::kForward, true, length};
}

template <typename Address>
std::optional<Neighbor::Outcome> Neighbor::RefuseEcho(const uint8_t* frame, uint32_t length,
                                                      const Headers& headers, const Address& source,
                                                      const Address& destination) const {
  const auto drop = [length](Reason reason) { return Outcome{packet::Drop(reason), true, length}; };
  if (!own_.IsOurMac(frame) || !own_.Owns(destination)) {
    return Outcome{packet::kForward, false, length};
  }
  const uint8_t code = frame[headers.l4 + 1];
  if (code != 0) return drop(kMalformed);
  if (!packet::IsHostMac(frame + 6) || !packet::IsHost(source) || own_.Owns(source)) {
    return drop(kBadSource);
  }
  if (headers.source_routed) return drop(kUnsupported);
  return std::nullopt;
}

Neighbor::Outcome Neighbor::AnswerEcho(uint8_t* frame, uint32_t length,
                                       const Headers& headers) const {
  uint8_t* ip = frame + headers.l3;
  uint8_t* icmp = frame + headers.l4;
  if (const auto refused = RefuseEcho(frame, length, headers, Load<Ipv4Address>(ip + 12),
                                      Load<Ipv4Address>(ip + 16))) {
    return *refused;
  }
  if (!packet::ChecksumHolds(packet::SumBytes(icmp, UpperBytes(headers))) ||
      !packet::ChecksumHolds(packet::SumBytes(ip, headers.l4 - headers.l3))) {
    return {packet::Drop(kBadChecksum), true, length};
  }
  icmp[0] = kEchoReply;
  packet::RepairL4Checksum(frame, headers, kEchoRequest, kEchoReply);
  packet::SwapMacs(frame);
  packet::SwapIpv4Addresses(ip);
  const auto old_word = Load<uint16_t>(ip + 8);
  ip[8] = kTtl;
  Store(ip + 10, packet::UpdateChecksum(Load<uint16_t>(ip + 10), old_word, Load<uint16_t>(ip + 8)));
  return {packet::kForward, true, length};
}

Neighbor::Outcome Neighbor::AnswerEchoIpv6(uint8_t* frame, uint32_t length,
                                           const Headers& headers) const {
  uint8_t* ip = frame + headers.l3;
  uint8_t* icmp = frame + headers.l4;
  if (const auto refused = RefuseEcho(frame, length, headers, Load<Ipv6Address>(ip + 8),
                                      Load<Ipv6Address>(ip + 24))) {
    return *refused;
  }
  if (!packet::ChecksumHolds(Icmpv6Sum(frame, headers))) {
    return {packet::Drop(kBadChecksum), true, length};
  }
  icmp[0] = kEchoReplyIpv6;
  packet::RepairL4Checksum(frame, headers, kEchoRequestIpv6, kEchoReplyIpv6);
  packet::SwapMacs(frame);
  packet::SwapIpv6Addresses(ip);
  ip[7] = kTtl;
  return {packet::kForward, true, length};
}

Neighbor::Outcome Neighbor::AnswerSolicitation(uint8_t* frame, uint32_t length, uint32_t tailroom,
                                               const Headers& headers) const {
  const Outcome not_mine{packet::kForward, false, length};
  const auto drop = [length](Reason reason) { return Outcome{packet::Drop(reason), true, length}; };
  uint8_t* ip = frame + headers.l3;
  uint8_t* icmp = frame + headers.l4;
  if (UpperBytes(headers) < kSolicitationBytes) return not_mine;
  const auto target = Load<Ipv6Address>(icmp + 8);
  if (!own_.Owns(target)) return not_mine;
  const auto destination = Load<Ipv6Address>(ip + 24);
  const bool to_group = destination == SolicitedNode(target);
  if (!own_.IsOurMac(frame) &&
      !(to_group && Load<MacAddress>(frame) == MulticastMac(destination))) {
    return not_mine;
  }

  // Validity checks required by RFC 4861 section 7.1.1.
  if (ip[7] != 255) return drop(kHopLimit);
  if (headers.l4 != headers.l3 + packet::kIpv6HeaderBytes) return drop(kUnsupported);
  if (!packet::ChecksumHolds(Icmpv6Sum(frame, headers))) return drop(kBadChecksum);
  bool source_link_address = false;
  if (icmp[1] != 0 || !(to_group || own_.Owns(destination)) ||
      !ReadOptions(icmp + kSolicitationBytes, UpperBytes(headers) - kSolicitationBytes,
                   &source_link_address)) {
    return drop(kMalformed);
  }
  const auto source = Load<Ipv6Address>(ip + 8);
  const bool duplicate_detection = source == kUnspecified;
  if (duplicate_detection && (!to_group || source_link_address)) return drop(kMalformed);
  if (!packet::IsHostMac(frame + 6) || own_.Owns(source) ||
      (!duplicate_detection && !packet::IsHost(source))) {
    return drop(kBadSource);
  }
  const uint32_t answer_length = headers.l4 + kAdvertisementBytes;
  if (answer_length > length && answer_length - length > tailroom) return drop(kNoRoom);

  const MacAddress asker_mac = Load<MacAddress>(frame + 6);
  packet::SetMac(frame, packet::End::kDestination, duplicate_detection ? kAllNodesMac : asker_mac);
  packet::SetMac(frame, packet::End::kSource, own_.mac());
  StoreBe16(ip + 4, kAdvertisementBytes);
  Store(ip + 8, target);
  Store(ip + 24, duplicate_detection ? kAllNodes : source);
  icmp[0] = kAdvertisement;
  Store<uint16_t>(icmp + 2, 0);
  // Flags: override; also solicited unless the answer goes to all nodes.
  packet::StoreBe32(icmp + 4, duplicate_detection ? 0x20000000 : 0x60000000);
  icmp[24] = kTargetLinkAddress;
  icmp[25] = 1;
  Store(icmp + 26, own_.mac());
  const uint64_t pseudo_sum =
      packet::PseudoHeaderSumIpv6(ip, packet::kProtocolIcmpv6, kAdvertisementBytes);
  Store(icmp + 2, packet::FinishChecksum(packet::SumBytes(icmp, kAdvertisementBytes, pseudo_sum)));
  return {packet::kForward, true, answer_length};
}

}  // namespace sluice::engine
