// SPDX-License-Identifier: BSD-3-Clause
//
// Finds and checks received UDP datagrams in frames, and addresses answers to their senders.
// Supports IPv4 without options and IPv6 without extension headers, with up to two VLAN tags.
#pragma once

#include <bit>
#include <cstdint>

#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/frame_length.h"
#include "packet/rewrite.h"

namespace sluice::packet {

/// Addresses of a datagram's sender and receiver.
struct UdpPath {
  MacAddress from_mac, to_mac;
  Ipv4Address from, to;
  uint16_t from_port, to_port;
};

struct Datagram {
  /// Result of In; an application answers only kUdp.
  enum class Kind : uint8_t { kUdp, kOther, kMalformed, kFragment, kOptions, kBadChecksum };

  Kind kind = Kind::kOther;
  bool ipv6 = false;
  bool summed = false;  ///< The datagram has a UDP checksum, so the answer must have one, too.
  uint16_t port = 0;    ///< Destination port.
  uint32_t l3 = 0;      ///< Offset of the IP header in the frame.
  uint32_t payload = 0;
  uint32_t payload_bytes = 0;

  uint32_t l4() const { return payload - kUdpHeaderBytes; }

  /// Returns the maximum payload of an answer in bytes, limited by IP's length fields.
  uint32_t MostAnswerBytes() const {
    return 65535 - (ipv6 ? uint32_t{kUdpHeaderBytes} : kIpv4Headers);
  }

  /// Parses a frame. Checks every length and, if present, the UDP checksum.
  static Datagram In(const uint8_t* frame, uint32_t length) {
    return IsPlain(frame, length) ? Plain(frame) : InAny(frame, length);
  }

  /// Rewrites the headers at `frame`, a copy of the first `payload` bytes of this datagram (offset
  /// of the payload), for an answer with `bytes` bytes of payload to the sender. `only` means that
  /// this is the only answer. Over IPv4, the only answer keeps the request's identification, which
  /// the sender must not reuse soon (RFC 6864, section 4.3), and may be fragmented if the request
  /// could be. Otherwise the don't-fragment flag is set, because several answers cannot share an
  /// identification.
  void Answer(uint8_t* frame, uint32_t bytes, bool only = true) const {
    SwapMacs(frame);
    if (ipv6) {
      AnswerIpv6(frame + l3, bytes);
    } else {
      AnswerIpv4(frame + l3, bytes, only);
    }
    SwapPorts(frame + l4());
    StoreBe32(frame + l4() + 4, (kUdpHeaderBytes + bytes) << 16);
    if (summed) AddChecksum(frame, bytes);
  }

  /// Writes kPlainPayload bytes of headers for `bytes` bytes of payload that follow them. The UDP
  /// checksum is 0, so only Ethernet's FCS protects the datagram.
  static void WritePlain(uint8_t* frame, const UdpPath& path, uint32_t bytes) {
    Store(frame, path.to_mac);
    Store(frame + 6, path.from_mac);
    StoreBe16(frame + 12, kEtherTypeIpv4);
    uint8_t* const ip = frame + kEthernetHeaderBytes;
    StoreBe32(ip, 0x4500u << 16 | (kIpv4Headers + bytes));
    StoreBe32(ip + 4, kDontFragment);  // No identification is needed (RFC 6864).
    StoreBe32(ip + 8, uint32_t{kTtl} << 24 | uint32_t{kProtocolUdp} << 16);
    Store(ip + 12, path.from);
    Store(ip + 16, path.to);
    Store(ip + 10, FinishChecksum(SumBytes(ip, kIpv4MinHeaderBytes)));
    uint8_t* const udp = frame + kPlainUdp;
    StoreBe16(udp, path.from_port);
    StoreBe16(udp + 2, path.to_port);
    StoreBe32(udp + 4, (kUdpHeaderBytes + bytes) << 16);
  }

  /// Total size of the IP and UDP headers.
  static constexpr uint32_t kIpv4Headers = kIpv4MinHeaderBytes + kUdpHeaderBytes;
  static constexpr uint32_t kIpv6Headers = kIpv6HeaderBytes + kUdpHeaderBytes;
  /// Payload offset of a plain datagram: untagged IPv4 without options.
  static constexpr uint32_t kPlainPayload = kEthernetHeaderBytes + kIpv4Headers;

 private:
  static constexpr uint8_t kTtl = 64;
  static constexpr uint32_t kDontFragment = 0x4000;
  static constexpr uint32_t kPlainUdp = kPlainPayload - kUdpHeaderBytes;

  /// Returns whether the frame is a complete, unfragmented UDP datagram in untagged IPv4 without
  /// options. Its offsets are then known without a general parse.
  static bool IsPlain(const uint8_t* frame, uint32_t length) {
    if (length < kPlainPayload) return false;
    const LeadingWord word = LeadingWord::Of(frame);
    const uint32_t total = word.TotalLength();
    const uint8_t* const ip = frame + kEthernetHeaderBytes;
    const uint32_t udp_bytes = LoadBe16(frame + kPlainUdp + 4);
    return word.IsPlainIpv4() && total + kEthernetHeaderBytes <= length &&
           (LoadBe16(ip + 6) & 0x3fff) == 0 && ip[9] == kProtocolUdp &&
           udp_bytes >= kUdpHeaderBytes && udp_bytes + kIpv4MinHeaderBytes <= total;
  }
  static Datagram Plain(const uint8_t* frame) {
    Datagram found;
    found.kind = Kind::kUdp;
    found.port = LoadBe16(frame + kPlainUdp + 2);
    found.l3 = kEthernetHeaderBytes;
    found.payload = kPlainPayload;
    found.payload_bytes = LoadBe16(frame + kPlainUdp + 4) - uint32_t{kUdpHeaderBytes};
    found.summed = Load<uint16_t>(frame + kPlainUdp + 6) != 0;
    if (found.summed) found.CheckSum(frame);
    return found;
  }
  static Datagram InAny(const uint8_t* frame, uint32_t length);

  /// Sets kBadChecksum if the UDP checksum is wrong. The datagram must have one.
  void CheckSum(const uint8_t* frame);

  /// Changes the IPv4 header to that of an answer. Computes the checksum in registers: if it were
  /// summed over bytes that were just stored in parts, the loads would have to wait until the
  /// stores reach the cache.
  static void AnswerIpv4(uint8_t* ip, uint32_t bytes, bool only) {
    constexpr uint64_t kUpToService = uint64_t{0xffff} << 48;
    constexpr uint64_t kIdentification = 0xffff0000;
    const uint64_t kept = kUpToService | (only ? kIdentification | kDontFragment : 0);
    const uint64_t first =
        (LoadBe64(ip) & kept) | uint64_t{kIpv4Headers + bytes} << 32 | (only ? 0 : kDontFragment);
    const uint32_t second = uint32_t{kTtl} << 24 | uint32_t{kProtocolUdp} << 16;
    const uint64_t addresses = LoadBe64(ip + 12);
    const uint64_t sum = (first >> 32) + (first & 0xffffffff) + second + (addresses >> 32) +
                         (addresses & 0xffffffff);
    Store(ip, __builtin_bswap64(first));
    StoreBe32(ip + 8, second | FinishChecksum(sum));
    Store(ip + 12, __builtin_bswap64(std::rotl(addresses, 32)));
  }
  static void AnswerIpv6(uint8_t* ip, uint32_t bytes);
  /// Writes the UDP checksum. The checksum field must be 0.
  void AddChecksum(uint8_t* frame, uint32_t bytes) const;
};

}  // namespace sluice::packet
