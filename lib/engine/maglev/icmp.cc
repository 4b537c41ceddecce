// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/icmp.h"

#include <algorithm>
#include <cstring>

#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/host_address.h"
#include "packet/rewrite.h"

namespace sluice::engine::maglev {
namespace {

using packet::FlowKey;
using packet::Frame;
using packet::Headers;
using packet::Ipv4Address;
using packet::Ipv6Address;
using packet::Load;
using packet::LoadBe16;
using packet::Network;
using packet::ParseError;
using packet::Store;
using packet::StoreBe16;
using packet::StoreBe32;

constexpr uint8_t kAnswerTtl = 64;
constexpr uint8_t kEchoRequest = 8, kEchoReply = 0;
constexpr uint8_t kEchoRequestIpv6 = 128, kEchoReplyIpv6 = 129;
constexpr uint8_t kUnreachable = 3, kFragmentationNeeded = 4;  // Type and code, RFC 1191.
constexpr uint8_t kTooBigIpv6 = 2;
constexpr uint8_t kRedirectIpv6 = 137;

/// Precedence "internetwork control" (RFC 1812 section 4.3.2.5: 6 or 7).
constexpr uint8_t kErrorTypeOfService = 0xc0;
constexpr uint16_t kDoNotFragment = 0x4000;
/// Longest ICMP error (RFC 1812 section 4.3.2.3).
constexpr uint32_t kMaxErrorBytesIpv4 = 576;
/// Longest ICMPv6 error (RFC 4443 section 2.4 (c)); also the minimum MTU of IPv6 links (RFC 8200
/// section 5).
constexpr uint32_t kMinMtuIpv6 = 1280;
constexpr uint32_t kErrorHeaderBytesIpv4 = packet::kIpv4MinHeaderBytes + packet::kIcmpHeaderBytes;
constexpr uint32_t kErrorHeaderBytesIpv6 = packet::kIpv6HeaderBytes + packet::kIcmpHeaderBytes;

constexpr uint32_t kMaxQuotedExtensions = 8;  // The limit of packet::Parse.
constexpr uint32_t kPortBytes = 4;
constexpr uint32_t kTcpChecksumOffset = 16, kUdpChecksumOffset = 6;

/// Returns whether the MAC and IP addresses of a packet are host addresses, not group addresses,
/// and the IP addresses differ (RFC 1122 section 3.2.2).
template <typename Address>
bool BetweenHosts(const uint8_t* frame, const Address& source, const Address& destination) {
  return packet::IsHostMac(frame) && packet::IsHostMac(frame + 6) && packet::IsHost(source) &&
         packet::IsHost(destination) && source != destination;
}

/// Overload for a packet that Parse accepted as IP.
bool BetweenHosts(const uint8_t* frame, const Headers& headers) {
  const uint8_t* ip = frame + headers.l3;
  return headers.network == Network::kIpv4
             ? BetweenHosts(frame, Load<Ipv4Address>(ip + 12), Load<Ipv4Address>(ip + 16))
             : BetweenHosts(frame, Load<Ipv6Address>(ip + 8), Load<Ipv6Address>(ip + 24));
}

/// Returns whether the packet is ICMP over IPv4 or ICMPv6 over IPv6 and its ICMP header is in this
/// frame.
bool IsIcmp(const Headers& headers) {
  if (headers.error != ParseError::kNone || headers.l4 == 0) return false;
  return headers.protocol ==
         (headers.network == Network::kIpv4 ? packet::kProtocolIcmp : packet::kProtocolIcmpv6);
}

/// Returns whether an ICMP type is an error: destination unreachable, source quench, redirect, time
/// exceeded or parameter problem.
bool IsErrorType(uint8_t type) {
  return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

/// Returns whether RFC 1122 section 3.2.2 or RFC 4443 section 2.4 (e) forbids an error about this
/// packet. All ICMPv6 types below 128 are errors, known or not.
bool IsError(const uint8_t* frame, const Headers& headers) {
  if (!IsIcmp(headers)) return false;
  const uint8_t type = frame[headers.l4];
  if (headers.network == Network::kIpv4) return IsErrorType(type);
  return type < 128 || type == kRedirectIpv6;
}

/// Upper-layer header of a quoted packet; null if it is cut off or in another fragment.
struct Quote {
  const uint8_t* upper = nullptr;
  uint8_t protocol = 0;
};

Quote ReadQuoteIpv4(const uint8_t* ip, const uint8_t* end) {
  const auto bytes = static_cast<uint32_t>(end - ip);
  if (bytes < packet::kIpv4MinHeaderBytes || ip[0] >> 4 != 4) return {};
  const uint32_t header_bytes = (ip[0] & 0xfu) * 4;
  if (header_bytes < packet::kIpv4MinHeaderBytes || header_bytes > bytes) return {};
  if ((LoadBe16(ip + 6) & 0x1fff) != 0) return {};
  return {ip + header_bytes, ip[9]};
}

Quote ReadQuoteIpv6(const uint8_t* ip, const uint8_t* end) {
  if (end - ip < packet::kIpv6HeaderBytes || ip[0] >> 4 != 6) return {};
  uint8_t protocol = ip[6];
  const uint8_t* at = ip + packet::kIpv6HeaderBytes;
  for (uint32_t count = 0; count <= kMaxQuotedExtensions; ++count) {
    uint32_t bytes = 0;
    switch (protocol) {
      case packet::kProtocolTcp:
      case packet::kProtocolUdp:
        return {at, protocol};
      case packet::kProtocolHopByHop:
      case packet::kProtocolRouting:
      case packet::kProtocolDestinationOptions:
      case packet::kProtocolMobility:
      case packet::kProtocolHip:
      case packet::kProtocolShim6:
      case packet::kProtocolFragment:
      case packet::kProtocolAuthentication:
        if (end - at < 8) return {};
        bytes = (at[1] + 1u) * 8;
        break;
      default:
        return {};
    }
    if (protocol == packet::kProtocolFragment) {
      if ((LoadBe16(at + 2) & 0xfff8) != 0) return {};
      bytes = 8;
    }
    if (protocol == packet::kProtocolAuthentication) bytes = (at[1] + 2u) * 4;
    if (static_cast<uint32_t>(end - at) < bytes) return {};
    protocol = at[0];
    at += bytes;
  }
  return {};
}

/// Makes room for `header_bytes` between the VLAN tags and the IP packet, truncates the IP packet
/// to `quote_bytes`, and swaps the MAC addresses.
void Insert(Frame& frame, const Headers& headers, uint32_t header_bytes, uint32_t quote_bytes) {
  const uint32_t length = headers.l3 + header_bytes + quote_bytes;
  uint8_t* front = frame.data - header_bytes;
  std::memmove(front, frame.data, headers.l3);
  packet::SwapMacs(front);
  frame.tailroom += frame.length + header_bytes - length;
  frame.data = front;
  frame.length = length;
  frame.headroom -= header_bytes;
}

void InsertErrorIpv4(Frame& frame, const Headers& headers, uint32_t mtu) {
  const uint32_t quote_bytes =
      std::min(headers.end - headers.l3, kMaxErrorBytesIpv4 - kErrorHeaderBytesIpv4);
  Insert(frame, headers, kErrorHeaderBytesIpv4, quote_bytes);
  uint8_t* ip = frame.data + headers.l3;
  uint8_t* icmp = ip + packet::kIpv4MinHeaderBytes;
  const uint8_t* quote = icmp + packet::kIcmpHeaderBytes;
  std::memset(ip, 0, kErrorHeaderBytesIpv4);
  ip[0] = 0x45;
  ip[1] = kErrorTypeOfService;
  StoreBe16(ip + 2, static_cast<uint16_t>(kErrorHeaderBytesIpv4 + quote_bytes));
  // An atomic datagram needs no identification (RFC 6864 section 4.1).
  StoreBe16(ip + 6, kDoNotFragment);
  ip[8] = kAnswerTtl;
  ip[9] = packet::kProtocolIcmp;
  Store(ip + 12, Load<Ipv4Address>(quote + 16));
  Store(ip + 16, Load<Ipv4Address>(quote + 12));
  Store(ip + 10, packet::FinishChecksum(packet::SumBytes(ip, packet::kIpv4MinHeaderBytes)));
  icmp[0] = kUnreachable;
  icmp[1] = kFragmentationNeeded;
  StoreBe16(icmp + 6, static_cast<uint16_t>(std::min<uint32_t>(mtu, 0xffff)));
  Store(icmp + 2,
        packet::FinishChecksum(packet::SumBytes(icmp, packet::kIcmpHeaderBytes + quote_bytes)));
}

void InsertErrorIpv6(Frame& frame, const Headers& headers, uint32_t mtu) {
  const uint32_t quote_bytes =
      std::min(headers.end - headers.l3, kMinMtuIpv6 - kErrorHeaderBytesIpv6);
  Insert(frame, headers, kErrorHeaderBytesIpv6, quote_bytes);
  const uint32_t icmp_bytes = packet::kIcmpHeaderBytes + quote_bytes;
  uint8_t* ip = frame.data + headers.l3;
  uint8_t* icmp = ip + packet::kIpv6HeaderBytes;
  const uint8_t* quote = icmp + packet::kIcmpHeaderBytes;
  std::memset(ip, 0, kErrorHeaderBytesIpv6);
  ip[0] = 0x60;
  StoreBe16(ip + 4, static_cast<uint16_t>(icmp_bytes));
  ip[6] = packet::kProtocolIcmpv6;
  ip[7] = kAnswerTtl;
  Store(ip + 8, Load<Ipv6Address>(quote + 24));
  Store(ip + 24, Load<Ipv6Address>(quote + 8));
  icmp[0] = kTooBigIpv6;
  StoreBe32(icmp + 4, std::max(mtu, kMinMtuIpv6));
  const uint64_t pseudo_sum = packet::PseudoHeaderSumIpv6(ip, packet::kProtocolIcmpv6, icmp_bytes);
  Store(icmp + 2, packet::FinishChecksum(packet::SumBytes(icmp, icmp_bytes, pseudo_sum)));
}

}  // namespace

bool IsEchoRequest(const Frame& frame, const Headers& headers) {
  if (!IsIcmp(headers)) return false;
  const bool ipv4 = headers.network == Network::kIpv4;
  return frame.data[headers.l4] == (ipv4 ? kEchoRequest : kEchoRequestIpv6);
}

bool AnswerEcho(Frame& frame, const Headers& headers) {
  if (!IsEchoRequest(frame, headers) || headers.IsFragment() || headers.source_routed) {
    return false;
  }
  uint8_t* ip = frame.data + headers.l3;
  uint8_t* icmp = frame.data + headers.l4;
  const bool ipv4 = headers.network == Network::kIpv4;
  const uint8_t request = ipv4 ? kEchoRequest : kEchoRequestIpv6;
  const uint8_t reply = ipv4 ? kEchoReply : kEchoReplyIpv6;
  if (icmp[1] != 0 || !BetweenHosts(frame.data, headers)) return false;
  packet::SwapMacs(frame.data);
  icmp[0] = reply;
  packet::RepairL4Checksum(frame.data, headers, request, reply);
  if (ipv4) {
    packet::SwapIpv4Addresses(ip);
    const auto old_word = Load<uint16_t>(ip + 8);
    ip[8] = kAnswerTtl;
    Store(ip + 10,
          packet::UpdateChecksum(Load<uint16_t>(ip + 10), old_word, Load<uint16_t>(ip + 8)));
  } else {
    packet::SwapIpv6Addresses(ip);
    ip[7] = kAnswerTtl;
  }
  return true;
}

std::optional<FlowKey> FlowOfError(const Frame& frame, const Headers& headers) {
  if (!IsIcmp(headers)) return std::nullopt;
  const uint8_t type = frame.data[headers.l4];
  const uint8_t* ip = frame.data + headers.l3;
  const uint8_t* quoted = frame.data + headers.l4 + packet::kIcmpHeaderBytes;
  const uint8_t* end = frame.data + headers.end;
  FlowKey key;
  Quote quote;
  if (headers.network == Network::kIpv4) {
    if (!IsErrorType(type)) return std::nullopt;
    quote = ReadQuoteIpv4(quoted, end);
    if (quote.upper == nullptr || Load<Ipv4Address>(quoted + 12) != Load<Ipv4Address>(ip + 16)) {
      return std::nullopt;
    }
    key.ip_version = 4;
    std::memcpy(key.source.data(), quoted + 16, 4);
    std::memcpy(key.destination.data(), quoted + 12, 4);
  } else {
    if (type < 1 || type > 4) return std::nullopt;
    quote = ReadQuoteIpv6(quoted, end);
    if (quote.upper == nullptr || Load<Ipv6Address>(quoted + 8) != Load<Ipv6Address>(ip + 24)) {
      return std::nullopt;
    }
    key.ip_version = 6;
    key.source = Load<Ipv6Address>(quoted + 24);
    key.destination = Load<Ipv6Address>(quoted + 8);
  }
  if (quote.protocol != packet::kProtocolTcp && quote.protocol != packet::kProtocolUdp) {
    return std::nullopt;
  }
  if (end - quote.upper < kPortBytes) return std::nullopt;
  key.protocol = quote.protocol;
  key.source_port = LoadBe16(quote.upper + 2);
  key.destination_port = LoadBe16(quote.upper);
  return key;
}

void TranslateQuote(Frame& frame, const Headers& headers, packet::End end, const IpAddress& address,
                    uint16_t port_be) {
  if (!IsIcmp(headers)) return;
  const bool ipv4 = headers.network == Network::kIpv4;
  const bool source = end == packet::End::kSource;
  const uint32_t ip = headers.l4 + packet::kIcmpHeaderBytes;
  const uint8_t* const limit = frame.data + headers.end;
  const Quote quote =
      ipv4 ? ReadQuoteIpv4(frame.data + ip, limit) : ReadQuoteIpv6(frame.data + ip, limit);
  if (quote.upper == nullptr || limit - quote.upper < kPortBytes) return;
  const auto upper = static_cast<uint32_t>(quote.upper - frame.data);
  const bool udp = quote.protocol == packet::kProtocolUdp;
  const uint32_t upper_checksum = upper + (udp ? kUdpChecksumOffset : kTcpChecksumOffset);
  const bool has_upper_checksum = upper_checksum + 2 <= headers.end;
  // The checksum of the error covers every word of the quote, including the quoted checksums.
  const auto set = [&](uint32_t offset, uint16_t word) {
    const auto old_word = Load<uint16_t>(frame.data + offset);
    packet::SetL4Word(frame.data, headers, offset, word);
    if (ipv4 && offset < upper) {
      const auto stored = Load<uint16_t>(frame.data + ip + 10);
      packet::SetL4Word(frame.data, headers, ip + 10,
                        packet::UpdateChecksum(stored, old_word, word));
    }
    if (!has_upper_checksum) return;
    const auto stored = Load<uint16_t>(frame.data + upper_checksum);
    packet::SetL4Word(frame.data, headers, upper_checksum,
                      udp ? packet::UpdateUdpChecksum(stored, old_word, word)
                          : packet::UpdateChecksum(stored, old_word, word));
  };
  const uint32_t field = ip + (ipv4 ? (source ? 12 : 16) : (source ? 8 : 24));
  for (uint32_t i = 0; i < (ipv4 ? 4u : 16u); i += 2) {
    set(field + i, Load<uint16_t>(address.bytes.data() + i));
  }
  if (port_be != 0) set(upper + (source ? 0 : 2), port_be);
}

bool MakeTooBig(Frame& frame, const Headers& headers, uint32_t mtu) {
  if (headers.error != ParseError::kNone || !headers.IsIp()) return false;
  if (headers.IsLaterFragment() || IsError(frame.data, headers)) return false;
  if (!BetweenHosts(frame.data, headers)) return false;
  if (headers.network == Network::kIpv4) {
    if (frame.headroom < kErrorHeaderBytesIpv4) return false;
    InsertErrorIpv4(frame, headers, mtu);
  } else {
    // The sender cannot shorten the packet further (RFC 8201 section 4).
    if (headers.end - headers.l3 <= kMinMtuIpv6) return false;
    if (frame.headroom < kErrorHeaderBytesIpv6) return false;
    InsertErrorIpv6(frame, headers, mtu);
  }
  return true;
}

}  // namespace sluice::engine::maglev
