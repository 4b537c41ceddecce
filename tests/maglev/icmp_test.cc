// SPDX-License-Identifier: BSD-3-Clause
//
// Tests answers to pings and the handling of ICMP errors. The expected bytes, including checksums,
// were generated with scapy. Long frames are compared with the quoted input and with naively
// computed checksums.
#include "engine/maglev/icmp.h"

#include <gtest/gtest.h>

#include <memory>

#include "packet/bytes.h"
#include "packet/fixtures.h"
#include "packet/oracle.h"

namespace sluice::engine::maglev {
namespace {

using packet::FlowKey;
using packet::Frame;
using packet::Headers;
using packet::Parse;
using test::Bytes;
using test::FromHex;

/// A frame in a buffer with the given headroom and no tailroom.
class Placed {
 public:
  explicit Placed(const Bytes& bytes, uint32_t headroom = 0)
      : buffer_(Spread(bytes, headroom)),
        frame{buffer_.data() + headroom, static_cast<uint32_t>(bytes.size()), headroom, 0},
        headers(Parse(frame.data, frame.length)) {}

  Bytes bytes() const { return Bytes(frame.data, frame.data + frame.length); }

 private:
  static Bytes Spread(const Bytes& bytes, uint32_t headroom) {
    Bytes spread(headroom, 0xee);
    spread.insert(spread.end(), bytes.begin(), bytes.end());
    return spread;
  }
  test::ExactBuffer buffer_;

 public:
  Frame frame;
  Headers headers;
};

Bytes With(Bytes bytes, size_t at, const Bytes& change) {
  std::copy(change.begin(), change.end(), bytes.begin() + at);
  return bytes;
}

Bytes Join(const Bytes& head, const Bytes& tail) {
  Bytes all = head;
  all.insert(all.end(), tail.begin(), tail.end());
  return all;
}

/// Offsets in an untagged frame.
constexpr size_t kIp = 14, kIcmp4 = kIp + 20, kIcmp6 = kIp + 40;

std::optional<Bytes> Echo(const Bytes& request) {
  Placed placed(request);
  if (AnswerEcho(placed.frame, placed.headers)) return placed.bytes();
  EXPECT_EQ(placed.bytes(), request);
  return std::nullopt;
}

TEST(MaglevEcho, AnEchoRequestBecomesItsReply) {
  EXPECT_EQ(Echo(test::kPing4), FromHex("0200000000010200000000020800"
                                        "4500002e00010000400166cc0a0000020a000001"
                                        "000005fa00010002"
                                        "303132333435363738393a3b3c3d3e3f4041"));
  EXPECT_EQ(Echo(test::kPing6),
            FromHex("02000000000102000000000286dd"
                    "60000000001a3a40fd000000000000000000000000000002fd00000000000000"
                    "0000000000000001"
                    "81008aa000010002"
                    "303132333435363738393a3b3c3d3e3f4041"));
}

TEST(MaglevEcho, AReplyOfZerosHasTheChecksumOfZeros) {
  EXPECT_EQ(Echo(test::kPing4Zero), FromHex("0200000000010200000000020800"
                                            "4500002e00010000400166cc0a0000020a000001"
                                            "0000ffff00000000"
                                            "000000000000000000000000000000000000"));
}

TEST(MaglevEcho, TagsAndPaddingStay) {
  EXPECT_EQ(Echo(FromHex("020000000002020000000001"
                         "81006064"
                         "0800"
                         "4500001f0001000007019fdb0a0000010a000002"
                         "0800339a00010002"
                         "616263"
                         "9999999999")),
            FromHex("020000000001020000000002"
                    "81006064"
                    "0800"
                    "4500001f00010000400166db0a0000020a000001"
                    "00003b9a00010002"
                    "616263"
                    "9999999999"));
}

TEST(MaglevEcho, OnlyEchoRequestsAreAnswered) {
  EXPECT_EQ(Echo(test::kUdp4), std::nullopt);
  EXPECT_EQ(Echo(test::kUdp6), std::nullopt);
  EXPECT_EQ(Echo(test::kSolicitation), std::nullopt);
  EXPECT_EQ(Echo(test::kArpRequest), std::nullopt);
  for (int type = 0; type < 256; ++type) {
    const auto byte = static_cast<uint8_t>(type);
    EXPECT_EQ(Echo(With(test::kPing4, kIcmp4, {byte})).has_value(), type == 8) << type;
    EXPECT_EQ(Echo(With(test::kPing6, kIcmp6, {byte})).has_value(), type == 128) << type;
  }
  EXPECT_EQ(Echo(With(test::kPing4, kIcmp4 + 1, {1})), std::nullopt) << "code";
  EXPECT_EQ(Echo(With(test::kPing6, kIcmp6 + 1, {1})), std::nullopt) << "code";
}

TEST(MaglevEcho, ICMPOfTheOtherFamilyIsNone) {
  EXPECT_EQ(Echo(With(With(test::kPing4, kIp + 9, {58}), kIcmp4, {128})), std::nullopt);
  EXPECT_EQ(Echo(With(With(test::kPing6, kIp + 6, {1}), kIcmp6, {8})), std::nullopt);
}

TEST(MaglevEcho, FragmentsAreNotAnswered) {
  EXPECT_EQ(Echo(With(test::kPing4, kIp + 6, {0x20, 0})), std::nullopt) << "first";
  EXPECT_EQ(Echo(With(test::kPing4, kIp + 6, {0, 1})), std::nullopt) << "last";
  // The next header is a fragment header; the ICMPv6 header becomes data after it.
  EXPECT_EQ(
      Echo(With(With(test::kPing6, kIp + 6, {44}), kIp + 40, {58, 0, 0, 1, 0, 0, 0, 1, 128, 0})),
      std::nullopt);
}

TEST(MaglevEcho, ASenderThatIsNotOneOtherHostIsNotAnswered) {
  for (const Bytes& source : {Bytes{224, 0, 0, 1}, Bytes{255, 255, 255, 255}, Bytes{0, 0, 0, 0},
                              Bytes{127, 0, 0, 1}, Bytes{240, 0, 0, 1}, Bytes{10, 0, 0, 2}}) {
    EXPECT_EQ(Echo(With(test::kPing4, kIp + 12, source)), std::nullopt) << int{source[0]};
  }
  Bytes group(16), unspecified(16), loopback(16), itself(16);
  group[0] = 0xff;
  loopback[15] = 1;
  itself[0] = 0xfd;
  itself[15] = 2;
  for (const Bytes& source : {group, unspecified, loopback, itself}) {
    EXPECT_EQ(Echo(With(test::kPing6, kIp + 8, source)), std::nullopt) << int{source[15]};
  }
  EXPECT_EQ(Echo(With(test::kPing4, 6, {3})), std::nullopt) << "group MAC as source";
  EXPECT_EQ(Echo(With(test::kPing4, 0, {3})), std::nullopt) << "to a group MAC";
}

TEST(MaglevEcho, AStopOfASourceRouteDoesNotAnswer) {
  // Loose source route (131), 7 bytes, with the pointer to the first of one stop.
  const Bytes routed = FromHex(
      "0200000000020200000000010800"
      "47000024000100004001"
      "0000"
      "0a0000010a000002"
      "83070409080706"
      "00"
      "0800f7fd00010001");
  Placed placed(routed);
  ASSERT_EQ(placed.headers.error, packet::ParseError::kNone);
  ASSERT_TRUE(placed.headers.source_routed);
  EXPECT_EQ(Echo(routed), std::nullopt);
}

TEST(MaglevEcho, FramesCutAnywhereAreNotAnswered) {
  for (const Bytes* ping : {&test::kPing4, &test::kPing6}) {
    for (size_t size = 0; size < ping->size(); ++size) {
      EXPECT_EQ(Echo(Bytes(ping->begin(), ping->begin() + size)), std::nullopt) << size;
    }
  }
}

// An error about a TCP packet from 10.0.0.2:443 (the VIP) to 10.0.0.1:40000, sent by the router
// 192.0.2.9. The packet is truncated after 8 bytes of TCP, as in RFC 792.
const Bytes kError4 = FromHex(
    "0200000000020200000000030800"
    "45000038000500003e01b0b5c00002090a000002"  // IPv4
    "0304598700000578"                          // fragmentation needed, MTU 1400
    "45000028000740003c062ac70a0000020a000001"  // quoted: IPv4
    "01bb9c4000000001");                        // quoted: ports, sequence

// An error about UDP with 8 bytes of IPv4 options (router alert), in a tagged frame.
const Bytes kError4Options = FromHex(
    "020000000002020000000003"
    "81000005"
    "0800"
    "45000044000500003e01b0a9c00002090a000002"
    "0b00092000000000"                                          // time exceeded
    "47000028000700003c11d2b60a0000020a0000019404000001010100"  // quoted: IPv4 with options
    "07d003e8000cef28"
    "7778797a");  // quoted: UDP

const Bytes kError6 = FromHex(
    "02000000000202000000000386dd"
    "60000000003c3a3e20010db8000000000000000000000009fd000000000000000000000000000002"
    "02005c2100000578"  // packet too big, MTU 1400
    "60000000000c113cfd000000000000000000000000000002fd000000000000000000000000000001"
    "07d003e8000c0927"
    "7778797a");

// Hop-by-hop options, a routing header, a first fragment, authentication and destination options
// before UDP.
const Bytes kError6Extensions = FromHex(
    "02000000000202000000000386dd"
    "6000000000843a3e20010db8000000000000000000000009fd000000000000000000000000000002"
    "03009ae500000000"  // time exceeded
    "600000000054003cfd000000000000000000000000000002fd000000000000000000000000000001"
    "2b00010400000000"
    "2c02000000000000fd000000000000000000000000000007"
    "3300000100000009"
    "3c0400000000000100000002"
    "000000000000000000000000"
    "1100010400000000"
    "07d003e8000c0927"
    "7778797a");

FlowKey Key4(uint8_t protocol, uint16_t client_port, uint16_t vip_port) {
  FlowKey key;
  key.ip_version = 4;
  key.protocol = protocol;
  key.source = {10, 0, 0, 1};
  key.destination = {10, 0, 0, 2};
  key.source_port = client_port;
  key.destination_port = vip_port;
  return key;
}

FlowKey Key6(uint8_t protocol, uint16_t client_port, uint16_t vip_port) {
  FlowKey key = Key4(protocol, client_port, vip_port);
  key.ip_version = 6;
  key.source = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  key.destination = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  return key;
}

std::optional<FlowKey> Flow(const Bytes& error) {
  const Placed placed(error);
  const std::optional<FlowKey> flow = FlowOfError(placed.frame, placed.headers);
  EXPECT_EQ(placed.bytes(), error);
  return flow;
}

TEST(MaglevFlowOfError, IsTheQuotedFlowFromClientToVip) {
  EXPECT_EQ(Flow(kError4), Key4(6, 40000, 443));
  EXPECT_EQ(Flow(kError4Options), Key4(17, 1000, 2000));
  EXPECT_EQ(Flow(kError6), Key6(17, 1000, 2000));
  EXPECT_EQ(Flow(kError6Extensions), Key6(17, 1000, 2000));
}

TEST(MaglevFlowOfError, OnlyErrorsHaveOne) {
  for (int type = 0; type < 256; ++type) {
    const auto byte = static_cast<uint8_t>(type);
    // RFC 792: destination unreachable, source quench, redirect, time exceeded, parameter
    // problem. RFC 4443: destination unreachable, too big, time exceeded, parameter problem.
    const bool error4 = type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
    const bool error6 = type == 1 || type == 2 || type == 3 || type == 4;
    EXPECT_EQ(Flow(With(kError4, kIcmp4, {byte})).has_value(), error4) << type;
    EXPECT_EQ(Flow(With(kError6, kIcmp6, {byte})).has_value(), error6) << type;
  }
  for (const test::Fixture& fixture : test::kFixtures) {
    EXPECT_EQ(Flow(*fixture.bytes), std::nullopt) << fixture.name;
  }
}

TEST(MaglevFlowOfError, NeedsThePortsInTheQuote) {
  // Truncates frames and adjusts their IP lengths. All bytes up to and including the ports are
  // required, but no bytes after them.
  const auto cut4 = [](size_t size) {
    const auto bytes = static_cast<uint8_t>(size - kIp);
    return With(Bytes(kError4.begin(), kError4.begin() + size), kIp + 2, {0, bytes});
  };
  for (size_t size = kIcmp4 + 8; size <= kError4.size(); ++size) {
    EXPECT_EQ(Flow(cut4(size)).has_value(), size >= kIcmp4 + 8 + 20 + 4) << size;
  }
  for (const auto& [error, ports] :
       {std::pair{kError6, kIcmp6 + 8 + 40}, std::pair{kError6Extensions, kIcmp6 + 8 + 40 + 72}}) {
    for (size_t size = kIcmp6 + 8; size <= error.size(); ++size) {
      const auto bytes = static_cast<uint8_t>(size - kIp - 40);
      const Bytes cut = With(Bytes(error.begin(), error.begin() + size), kIp + 4, {0, bytes});
      EXPECT_EQ(Flow(cut).has_value(), size >= ports + 4) << size;
    }
  }
}

TEST(MaglevFlowOfError, FramesCutAnywhereHaveNone) {
  for (const Bytes* error : {&kError4, &kError4Options, &kError6, &kError6Extensions}) {
    for (size_t size = 0; size < error->size(); ++size) {
      EXPECT_EQ(Flow(Bytes(error->begin(), error->begin() + size)), std::nullopt) << size;
    }
  }
}

TEST(MaglevFlowOfError, BytesBehindTheIpPacketAreNoQuote) {
  // The IP packet ends after the quoted IP header; the ports are in Ethernet padding.
  EXPECT_EQ(Flow(With(kError4, kIp + 2, {0, 48})), std::nullopt);
  EXPECT_EQ(Flow(With(kError6, kIp + 4, {0, 48})), std::nullopt);
}

TEST(MaglevFlowOfError, AQuoteThatIsNoPacketHasNone) {
  constexpr size_t kQuote4 = kIcmp4 + 8, kQuote6 = kIcmp6 + 8;
  for (const uint8_t first : {0x35, 0x65, 0x05, 0x44, 0x40}) {
    EXPECT_EQ(Flow(With(kError4, kQuote4, {first})), std::nullopt) << int{first};
  }
  EXPECT_EQ(Flow(With(kError4, kQuote4, {0x47})), std::nullopt)
      << "with 8 bytes of options the ports are beyond the end";
  EXPECT_EQ(Flow(With(kError6, kQuote6, {0x45})), std::nullopt);
}

TEST(MaglevFlowOfError, AQuotedFragmentWithoutPortsHasNone) {
  EXPECT_EQ(Flow(With(kError4, kIcmp4 + 8 + 6, {0x00, 0x01})), std::nullopt);
  EXPECT_EQ(Flow(With(kError4, kIcmp4 + 8 + 6, {0x3f, 0xff})), std::nullopt);
  EXPECT_EQ(Flow(With(kError4, kIcmp4 + 8 + 6, {0x20, 0x00})), Key4(6, 40000, 443)) << "first";
  const size_t fragment = kIcmp6 + 8 + 40 + 8 + 24;
  EXPECT_EQ(Flow(With(kError6Extensions, fragment + 2, {0x00, 0x08})), std::nullopt);
  EXPECT_EQ(Flow(With(kError6Extensions, fragment + 2, {0x80, 0x00})), std::nullopt);
}

TEST(MaglevFlowOfError, OnlyTcpAndUdpAreQuoted) {
  for (const uint8_t protocol : {0, 1, 2, 47, 50, 58, 59, 132, 255}) {
    EXPECT_EQ(Flow(With(kError4, kIcmp4 + 8 + 9, {protocol})), std::nullopt) << int{protocol};
    if (protocol == 0) continue;  // IPv6 hop-by-hop options.
    EXPECT_EQ(Flow(With(kError6, kIcmp6 + 8 + 6, {protocol})), std::nullopt) << int{protocol};
  }
}

TEST(MaglevFlowOfError, ThePacketMustHaveBeenSentByWhomTheErrorIsSentTo) {
  EXPECT_EQ(Flow(With(kError4, kIcmp4 + 8 + 12, {10, 0, 0, 3})), std::nullopt);
  EXPECT_EQ(Flow(With(kError6, kIcmp6 + 8 + 8 + 15, {3})), std::nullopt);
}

/// Returns whether the ICMP checksum of an error is correct. The outer IPv4 header must not have
/// options.
bool ErrorChecksumHolds(const Bytes& error, const Headers& headers) {
  const uint32_t bytes = headers.end - headers.l4;
  const uint64_t pseudo =
      headers.IsIpv6() ? packet::PseudoHeaderSumIpv6(error.data() + headers.l3, 58, bytes) : 0;
  return packet::ChecksumHolds(packet::SumBytes(error.data() + headers.l4, bytes, pseudo));
}

TEST(MaglevTranslateQuote, OfAQuoteCutAnywhereOnlyAddressPortAndChecksumsChange) {
  // Offsets of the quoted address, port and checksums, relative to the first byte of the quote.
  struct Case {
    const Bytes* error;
    uint32_t source, header_checksum, upper, upper_checksum;
  };
  for (const Case& one : {Case{&kError4, 12, 10, 20, 16}, Case{&kError4Options, 12, 10, 28, 6},
                          Case{&kError6, 8, 0, 40, 6}, Case{&kError6Extensions, 8, 0, 112, 6}}) {
    const Headers whole =
        packet::Parse(one.error->data(), static_cast<uint32_t>(one.error->size()));
    const uint32_t quote = whole.l4 + 8;
    IpAddress address;
    address.ipv6 = whole.IsIpv6();
    std::fill_n(address.bytes.begin(), address.ipv6 ? 16 : 4, uint8_t{0xc5});
    for (size_t size = whole.l4 + 8; size <= one.error->size(); ++size) {
      const auto bytes = static_cast<uint16_t>(size - whole.l3 - (address.ipv6 ? 40 : 0));
      Bytes cut(one.error->begin(), one.error->begin() + static_cast<ptrdiff_t>(size));
      packet::StoreBe16(cut.data() + whole.l3 + (address.ipv6 ? 4 : 2), bytes);
      Placed placed(cut);
      const bool held = ErrorChecksumHolds(cut, placed.headers);
      TranslateQuote(placed.frame, placed.headers, packet::End::kSource, address, 0xabcd);
      const Bytes after = placed.bytes();
      ASSERT_EQ(after.size(), cut.size());
      if (size < quote + one.upper + 4) {
        EXPECT_EQ(after, cut) << size;
        continue;
      }
      EXPECT_EQ(ErrorChecksumHolds(after, placed.headers), held) << size;
      const auto is_in = [&](size_t at, uint32_t from, uint32_t count) {
        return at >= quote + from && at < quote + from + count;
      };
      for (size_t at = 0; at < size; ++at) {
        if (is_in(at, one.source, address.ipv6 ? 16 : 4)) {
          EXPECT_EQ(after[at], 0xc5) << at;
        } else if (is_in(at, one.upper, 2)) {
          EXPECT_EQ(after[at], at == quote + one.upper ? 0xcd : 0xab) << at;
        } else if (at - whole.l4 != 2 && at - whole.l4 != 3 &&
                   !(one.header_checksum != 0 && is_in(at, one.header_checksum, 2)) &&
                   !(size >= quote + one.upper + one.upper_checksum + 2 &&
                     is_in(at, one.upper + one.upper_checksum, 2))) {
          EXPECT_EQ(after[at], cut[at]) << at << " of " << size;
        }
      }
    }
  }
}

TEST(MaglevFlowOfError, MoreThanEightExtensionHeadersAreNotFollowed) {
  const auto error_with = [](size_t options) {
    Bytes error(kError6.begin(), kError6.begin() + kIcmp6 + 8 + 40);
    error[kIcmp6 + 8 + 6] = options == 0 ? 17 : 60;
    for (size_t i = 1; i <= options; ++i) {
      const auto next = static_cast<uint8_t>(i == options ? 17 : 60);
      error = Join(error, {next, 0, 1, 4, 0, 0, 0, 0});
    }
    error = Join(error, FromHex("07d003e8000c0927"));
    const auto bytes = static_cast<uint8_t>(error.size() - kIp - 40);
    return With(error, kIp + 4, {0, bytes});
  };
  EXPECT_EQ(Flow(error_with(0)), Key6(17, 1000, 2000));
  EXPECT_EQ(Flow(error_with(8)), Key6(17, 1000, 2000));
  EXPECT_EQ(Flow(error_with(9)), std::nullopt);
}

/// Returns 1400 bytes of UDP payload.
Bytes Pattern() {
  Bytes bytes(1400);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + 3);
  return bytes;
}

const Bytes kBig4 = Join(FromHex("0200000000020200000000010800"
                                 "450005941234400040110f230a0000010a000002"
                                 "03e807d00580fa31"),
                         Pattern());
const Bytes kBig6 = Join(FromHex("02000000000202000000000186dd"
                                 "6000000005801140fd000000000000000000000000000001"
                                 "fd000000000000000000000000000002"
                                 "03e807d005801430"),
                         Pattern());
// 46 bytes of IP after two tags, then padding.
const Bytes kSmall4 = FromHex(
    "020000000002020000000001"
    "88a80007"
    "81000064"
    "0800"
    "4500002e12340000401154890a0000010a000002"
    "03e807d0001ae5fc"
    "303132333435363738393a3b3c3d3e3f4041"
    "0101010101");

std::optional<Bytes> TooBig(const Bytes& packet, uint32_t mtu, uint32_t headroom = 64) {
  Placed placed(packet, headroom);
  const Frame before = placed.frame;
  const bool made = MakeTooBig(placed.frame, placed.headers, mtu);
  const Frame& after = placed.frame;
  EXPECT_EQ(after.data - after.headroom, before.data - before.headroom);
  EXPECT_EQ(after.headroom + after.length + after.tailroom,
            before.headroom + before.length + before.tailroom);
  if (made) return placed.bytes();
  EXPECT_EQ(after.data, before.data);
  EXPECT_EQ(placed.bytes(), packet);
  return std::nullopt;
}

Bytes Part(const Bytes& bytes, size_t from, size_t size) {
  return Bytes(bytes.begin() + from, bytes.begin() + from + size);
}

TEST(MaglevTooBig, TheAnswerNamesTheMtuAndQuotesThePacket) {
  EXPECT_EQ(TooBig(kSmall4, 40), FromHex("020000000001020000000002"
                                         "88a80007"
                                         "81000064"
                                         "0800"
                                         "45c0004a00004000400125f10a0000020a000001"
                                         "0304110200000028"
                                         "4500002e12340000401154890a0000010a000002"
                                         "03e807d0001ae5fc"
                                         "303132333435363738393a3b3c3d3e3f4041"));
}

TEST(MaglevTooBig, Icmp4IsAtMost576BytesLong) {
  EXPECT_EQ(TooBig(kBig4, 1380), Join(FromHex("0200000000010200000000020800"
                                              "45c0024000004000400123fb0a0000020a000001"
                                              "03040c3100000564"),
                                      Part(kBig4, kIp, 576 - 28)));
}

TEST(MaglevTooBig, Icmp6IsAtMost1280BytesLong) {
  EXPECT_EQ(TooBig(kBig6, 1420), Join(FromHex("02000000000102000000000286dd"
                                              "6000000004d83a40fd000000000000000000000000000002"
                                              "fd000000000000000000000000000001"
                                              "02007e180000058c"),
                                      Part(kBig6, kIp, 1280 - 48)));
}

TEST(MaglevTooBig, NoMtuBelow1280IsNamedInIpv6) {
  const std::optional<Bytes> error = TooBig(kBig6, 1279);
  ASSERT_TRUE(error);
  EXPECT_EQ(Part(*error, kIcmp6, 8), FromHex("02007ea400000500"));
}

TEST(MaglevTooBig, AnIpv6PacketThatNoSenderNeedsToShrinkIsNotAnswered) {
  // A payload length of 1240 makes a packet of 1280 bytes; the UDP length is smaller.
  const Bytes fits = With(With(kBig6, kIp + 4, {0x04, 0xd8}), kIp + 44, {0x04, 0xd8});
  EXPECT_EQ(TooBig(Part(fits, 0, kIp + 1280), 1000), std::nullopt);
  const Bytes above = With(With(kBig6, kIp + 4, {0x04, 0xd9}), kIp + 44, {0x04, 0xd9});
  EXPECT_TRUE(TooBig(Part(above, 0, kIp + 1281), 1000));
}

TEST(MaglevTooBig, Icmp4HasRoomFor16Bits) {
  const std::optional<Bytes> error = TooBig(kBig4, 70000);
  ASSERT_TRUE(error);
  EXPECT_EQ(Part(*error, kIcmp4 + 4, 4), FromHex("0000ffff"));
}

TEST(MaglevTooBig, IsMadeOfTcpAndPingsToo) {
  for (const Bytes* packet : {&test::kTcp4Options, &test::kPing4, &test::kUdp4IpOptions,
                              &test::kGre4, &test::kUdp4FirstFragment}) {
    const std::optional<Bytes> error = TooBig(*packet, 30);
    ASSERT_TRUE(error);
    const Headers headers = Parse(error->data(), static_cast<uint32_t>(error->size()));
    EXPECT_TRUE(test::ChecksumsHold(error->data(), headers));
    const size_t bytes = packet::LoadBe16(packet->data() + kIp + 2);
    EXPECT_EQ(Part(*error, kIcmp4 + 8, error->size() - kIcmp4 - 8), Part(*packet, kIp, bytes));
  }
}

TEST(MaglevTooBig, NeedsRoomInFront) {
  EXPECT_EQ(TooBig(kBig4, 1380, 27), std::nullopt);
  EXPECT_TRUE(TooBig(kBig4, 1380, 28));
  EXPECT_EQ(TooBig(kBig6, 1420, 47), std::nullopt);
  EXPECT_TRUE(TooBig(kBig6, 1420, 48));
}

TEST(MaglevTooBig, IsNotSentAboutErrors) {
  EXPECT_EQ(TooBig(kError4, 40), std::nullopt);
  for (int type = 0; type < 256; ++type) {
    const bool error4 = type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
    EXPECT_EQ(TooBig(With(kError4, kIcmp4, {static_cast<uint8_t>(type)}), 40).has_value(), !error4)
        << type;
    // RFC 4443 section 2.1: errors have an upper bit of 0. Section 2.4 (e.2) adds redirect.
    Bytes big = With(kBig6, kIp + 6, {58});
    big[kIcmp6] = static_cast<uint8_t>(type);
    EXPECT_EQ(TooBig(big, 1300).has_value(), type >= 128 && type != 137) << type;
  }
}

TEST(MaglevTooBig, IsNotSentAboutLaterFragments) {
  EXPECT_EQ(TooBig(test::kUdp4LaterFragment, 30), std::nullopt);
  const Bytes fragment = With(kBig6, kIp + 6, {44});
  EXPECT_EQ(TooBig(With(fragment, kIcmp6, {17, 0, 0, 8}), 1300), std::nullopt);
  EXPECT_TRUE(TooBig(With(fragment, kIcmp6, {59, 0, 0, 1}), 1300)) << "the first";
}

TEST(MaglevTooBig, IsNotSentToWhomIsNotOneHost) {
  for (const Bytes& source : {Bytes{224, 0, 0, 1}, Bytes{255, 255, 255, 255}, Bytes{0, 0, 0, 0},
                              Bytes{127, 0, 0, 1}, Bytes{240, 0, 0, 1}, Bytes{10, 0, 0, 2}}) {
    EXPECT_EQ(TooBig(With(kBig4, kIp + 12, source), 1380), std::nullopt) << int{source[0]};
  }
  EXPECT_EQ(TooBig(With(kBig6, kIp + 8, {0xff}), 1420), std::nullopt);
  EXPECT_EQ(TooBig(With(kBig6, kIp + 8, Bytes(16)), 1420), std::nullopt);
  EXPECT_EQ(TooBig(With(With(kBig6, kIp + 8, Bytes(16)), kIp + 23, {1}), 1420), std::nullopt);
  EXPECT_EQ(TooBig(With(kBig4, 6, {3}), 1380), std::nullopt) << "group MAC as source";
}

TEST(MaglevTooBig, IsNotSentAboutWhatWentToAGroup) {
  EXPECT_EQ(TooBig(With(kBig4, kIp + 16, {239, 1, 1, 1}), 1380), std::nullopt);
  EXPECT_EQ(TooBig(With(kBig4, kIp + 16, {255, 255, 255, 255}), 1380), std::nullopt);
  EXPECT_EQ(TooBig(With(kBig6, kIp + 24, {0xff}), 1420), std::nullopt);
  EXPECT_EQ(TooBig(With(kBig4, 0, Bytes(6, 0xff)), 1380), std::nullopt) << "broadcast frame";
}

TEST(MaglevTooBig, IsNotMadeOfWhatIsNoIpPacket) {
  for (const Bytes* frame : {&test::kVlanArp, &test::kSpanningTree, &test::kLldp}) {
    EXPECT_EQ(TooBig(*frame, 20), std::nullopt);
  }
  for (const Bytes* packet : {&kBig4, &kBig6, &kSmall4}) {
    const size_t ip_end = packet == &kSmall4 ? packet->size() - 5 : packet->size();
    for (size_t size = 0; size < ip_end; size += size < 80 ? 1 : 97) {
      EXPECT_EQ(TooBig(Part(*packet, 0, size), 1000), std::nullopt) << size;
    }
  }
}

}  // namespace
}  // namespace sluice::engine::maglev
