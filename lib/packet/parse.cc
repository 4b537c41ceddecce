// SPDX-License-Identifier: BSD-3-Clause
#include "packet/parse.h"

#include "packet/bytes.h"
#include "packet/ethernet.h"

namespace sluice::packet {
namespace {

constexpr uint32_t kMaxIpv6Extensions = 8;
constexpr uint32_t kMaxDatagramBytes = 65535;

/// State of one parse. Each step returns the error that ends the parse, or kNone, and sets `at_` to
/// the first byte that it did not consume. Bytes up to `headers_.end` are readable.
class Parser {
 public:
  Parser(const uint8_t* frame, uint32_t length, Headers& headers)
      : frame_(frame), headers_(headers) {
    headers_.end = length;
  }

  void Run() {
    headers_.error = Ethernet();
    if (headers_.error != ParseError::kNone) headers_.payload = headers_.payload_bytes = 0;
  }

 private:
  /// Returns the number of readable bytes after `at_`.
  uint32_t Left() const { return headers_.end - at_; }

  ParseError Ethernet() {
    if (Left() < kEthernetHeaderBytes) return ParseError::kEthernetTruncated;
    at_ = kEthernetHeaderBytes;
    uint16_t ethertype = LoadBe16(frame_ + 12);
    while (headers_.vlan_tags < kMaxVlanTags && IsVlanTag(ethertype)) {
      if (Left() < kVlanTagBytes) return ParseError::kEthernetTruncated;
      headers_.vlan_tci[headers_.vlan_tags++] = LoadBe16(frame_ + at_);
      ethertype = LoadBe16(frame_ + at_ + 2);
      at_ += kVlanTagBytes;
    }
    headers_.ethertype = ethertype;
    headers_.l3 = at_;
    switch (ethertype) {
      case kEtherTypeIpv4:
        return Ipv4();
      case kEtherTypeIpv6:
        return Ipv6();
      case kEtherTypeArp:
        if (Left() < kArpBytes) return ParseError::kArpTruncated;
        headers_.network = Network::kArp;
        return Payload();
      default:
        return ethertype < kMinEtherType ? Llc(ethertype) : Payload();
    }
  }

  ParseError Llc(uint16_t bytes) {
    if (bytes < kMinLlcBytes || bytes > kMaxLlcBytes || bytes > Left()) {
      return ParseError::kLlcLength;
    }
    headers_.end = at_ + bytes;
    return Payload();
  }

  ParseError Ipv4() {
    const uint8_t* ip = frame_ + at_;
    if (Left() < kIpv4MinHeaderBytes) return ParseError::kIpv4Truncated;
    if (ip[0] >> 4 != 4) return ParseError::kIpv4Version;
    const uint32_t header_bytes = (ip[0] & 0xf) * 4;
    const uint32_t total_length = LoadBe16(ip + 2);
    if (header_bytes < kIpv4MinHeaderBytes || header_bytes > total_length) {
      return ParseError::kIpv4HeaderLength;
    }
    if (total_length > Left()) return ParseError::kIpv4TotalLength;
    headers_.network = Network::kIpv4;
    headers_.protocol = ip[9];
    headers_.end = at_ + total_length;
    const uint16_t fragment = LoadBe16(ip + 6);
    headers_.fragment_offset = (fragment & 0x1fff) * 8;
    headers_.more_fragments = (fragment & 0x2000) != 0;
    at_ += header_bytes;
    if (header_bytes != kIpv4MinHeaderBytes &&
        !Ipv4Options(ip + kIpv4MinHeaderBytes, header_bytes - kIpv4MinHeaderBytes)) {
      return ParseError::kIpv4Options;
    }
    return Datagram();
  }

  /// Parses options (RFC 791 section 3.1). Returns false if an option exceeds the header.
  bool Ipv4Options(const uint8_t* option, uint32_t left) {
    while (left != 0 && option[0] != kIpv4OptionEnd) {
      uint32_t bytes = 1;
      if (option[0] != kIpv4OptionNone) {
        if (left < 2) return false;
        bytes = option[1];
        if (bytes < 2 || bytes > left) return false;
        const bool route =
            option[0] == kIpv4OptionLooseRoute || option[0] == kIpv4OptionStrictRoute;
        // The third byte points to the next stop, or past the option if no stop remains.
        if (route && bytes >= 3 && option[2] <= bytes) headers_.source_routed = true;
      }
      option += bytes;
      left -= bytes;
    }
    return true;
  }

  ParseError Ipv6() {
    const uint8_t* ip = frame_ + at_;
    if (Left() < kIpv6HeaderBytes) return ParseError::kIpv6Truncated;
    if (ip[0] >> 4 != 6) return ParseError::kIpv6Version;
    const uint32_t payload_length = LoadBe16(ip + 4);
    if (payload_length > Left() - kIpv6HeaderBytes) return ParseError::kIpv6PayloadLength;
    headers_.network = Network::kIpv6;
    headers_.end = at_ + kIpv6HeaderBytes + payload_length;
    at_ += kIpv6HeaderBytes;
    headers_.protocol = ip[6];
    return Extensions();
  }

  /// Parses the IPv6 extension headers (RFC 8200 section 4).
  ParseError Extensions() {
    for (uint32_t count = 0;; ++count) {
      uint32_t bytes = 0;
      const uint8_t* header = frame_ + at_;
      switch (headers_.protocol) {
        case kProtocolHopByHop:
        case kProtocolRouting:
        case kProtocolDestinationOptions:
        case kProtocolMobility:
        case kProtocolHip:
        case kProtocolShim6:
        case kProtocolFragment:
        case kProtocolAuthentication:
          if (Left() < 8) return ParseError::kIpv6Extension;
          bytes = (header[1] + 1) * 8;
          break;
        default:
          return Datagram();
      }
      if (count == kMaxIpv6Extensions) return ParseError::kIpv6Extension;
      const uint8_t type = headers_.protocol;
      if (type == kProtocolAuthentication) bytes = (header[1] + 2) * 4;
      if (type == kProtocolFragment) bytes = 8;
      if (bytes > Left()) return ParseError::kIpv6Extension;
      if (type == kProtocolRouting && header[3] != 0) headers_.source_routed = true;
      headers_.protocol = header[0];
      at_ += bytes;
      if (type == kProtocolFragment) {
        const uint16_t field = LoadBe16(header + 2);
        headers_.fragment_offset = field & 0xfff8;
        headers_.more_fragments = (field & 1) != 0;
        // After a later fragment's headers, the bytes are data and must not be parsed.
        if (headers_.IsLaterFragment()) return Datagram();
      }
    }
  }

  /// Parses the bytes after the IP headers.
  ParseError Datagram() {
    if (headers_.fragment_offset + Left() > kMaxDatagramBytes) return ParseError::kFragmentRange;
    return headers_.IsLaterFragment() ? Payload() : Upper();
  }

  ParseError Upper() {
    switch (headers_.protocol) {
      case kProtocolUdp:
        return Udp();
      case kProtocolTcp:
        return Tcp();
      case kProtocolIcmp:
      case kProtocolIcmpv6:
        if (Left() < kIcmpHeaderBytes) return ParseError::kIcmpTruncated;
        headers_.l4 = at_;
        at_ += kIcmpHeaderBytes;
        return Payload();
      default:
        return Payload();
    }
  }

  ParseError Udp() {
    if (Left() < kUdpHeaderBytes) return ParseError::kUdpTruncated;
    const uint32_t bytes = LoadBe16(frame_ + at_ + 4);
    if (bytes < kUdpHeaderBytes) return ParseError::kUdpLength;
    // UDP's length field covers the whole datagram, of which a first fragment contains only a part.
    if (bytes > Left() && !headers_.more_fragments) return ParseError::kUdpLength;
    headers_.l4 = at_;
    headers_.payload = at_ + kUdpHeaderBytes;
    headers_.payload_bytes = (bytes < Left() ? bytes : Left()) - kUdpHeaderBytes;
    return ParseError::kNone;
  }

  ParseError Tcp() {
    if (Left() < kTcpMinHeaderBytes) return ParseError::kTcpTruncated;
    const uint32_t header_bytes = (frame_[at_ + 12] >> 4) * 4;
    if (header_bytes < kTcpMinHeaderBytes || header_bytes > Left()) {
      return ParseError::kTcpHeaderLength;
    }
    headers_.l4 = at_;
    at_ += header_bytes;
    return Payload();
  }

  /// Treats all remaining bytes as payload.
  ParseError Payload() {
    headers_.payload = at_;
    headers_.payload_bytes = Left();
    return ParseError::kNone;
  }

  const uint8_t* frame_;
  uint32_t at_ = 0;
  Headers& headers_;
};

}  // namespace

Headers Parse(const uint8_t* frame, uint32_t length) {
  Headers headers;
  Parser(frame, length, headers).Run();
  return headers;
}

uint32_t Headers::L4ChecksumOffset() const {
  if (l4 == 0) return 0;
  switch (protocol) {
    case kProtocolUdp:
      return l4 + 6;
    case kProtocolTcp:
      return l4 + 16;
    default:
      return l4 + 2;  // ICMP or ICMPv6, because no other protocol sets `l4`.
  }
}

}  // namespace sluice::packet
