// SPDX-License-Identifier: BSD-3-Clause
#include "packet/parse.h"

#include <gtest/gtest.h>

#include <random>

#include "fixtures.h"
#include "oracle.h"
#include "packet/ethernet.h"
#include "packet/plain.h"

namespace sluice::packet {
namespace {

using test::Bytes;

Headers ParseExactly(const Bytes& frame) {
  const test::ExactBuffer buffer(frame);
  return Parse(buffer.data(), buffer.size());
}

ParseError ErrorOf(const Bytes& frame) { return ParseExactly(frame).error; }

/// Returns `frame` with one byte replaced.
Bytes With(Bytes frame, size_t offset, uint8_t value) {
  frame.at(offset) = value;
  return frame;
}

TEST(Parse, FindsTheLayersOfEveryFixture) {
  const struct {
    const char* name;
    const Bytes& frame;
    Network network;
    uint8_t protocol;
    uint32_t l3, l4, payload, payload_bytes, end;
  } kExpected[] = {
      {"udp4", test::kUdp4, Network::kIpv4, 17, 14, 34, 42, 18, 60},
      {"udp4 empty", test::kUdp4Empty, Network::kIpv4, 17, 14, 34, 42, 0, 42},
      {"tcp4 options", test::kTcp4Options, Network::kIpv4, 6, 14, 34, 66, 5, 71},
      {"tcp4 syn", test::kTcp4Syn, Network::kIpv4, 6, 14, 34, 54, 0, 54},
      {"udp4 ip options", test::kUdp4IpOptions, Network::kIpv4, 17, 14, 38, 46, 18, 64},
      {"vlan udp4", test::kVlanUdp4, Network::kIpv4, 17, 18, 38, 46, 18, 64},
      {"qinq udp6", test::kQinQUdp6, Network::kIpv6, 17, 22, 62, 70, 18, 88},
      {"vlan arp", test::kVlanArp, Network::kArp, 0, 18, 0, 18, 42, 60},
      {"udp6", test::kUdp6, Network::kIpv6, 17, 14, 54, 62, 18, 80},
      {"tcp6 extensions", test::kTcp6Extensions, Network::kIpv6, 6, 14, 70, 90, 3, 93},
      {"udp6 routed", test::kUdp6Routed, Network::kIpv6, 17, 14, 78, 86, 18, 104},
      {"udp6 authenticated", test::kUdp6Authenticated, Network::kIpv6, 17, 14, 78, 86, 18, 104},
      {"udp4 first", test::kUdp4FirstFragment, Network::kIpv4, 17, 14, 34, 42, 16, 58},
      {"udp4 later", test::kUdp4LaterFragment, Network::kIpv4, 17, 14, 0, 34, 24, 58},
      {"udp6 first", test::kUdp6FirstFragment, Network::kIpv6, 17, 14, 62, 70, 16, 86},
      {"udp6 later", test::kUdp6LaterFragment, Network::kIpv6, 17, 14, 0, 62, 24, 86},
      {"ping4", test::kPing4, Network::kIpv4, 1, 14, 34, 42, 18, 60},
      {"ping6", test::kPing6, Network::kIpv6, 58, 14, 54, 62, 18, 80},
      {"solicitation", test::kSolicitation, Network::kIpv6, 58, 14, 54, 62, 24, 86},
      {"arp", test::kArpRequest, Network::kArp, 0, 14, 0, 14, 46, 60},
      {"spanning tree", test::kSpanningTree, Network::kOther, 0, 14, 0, 14, 38, 52},
      {"gre", test::kGre4, Network::kIpv4, 47, 14, 0, 34, 26, 60},
      {"lldp", test::kLldp, Network::kOther, 0, 14, 0, 14, 46, 60},
  };
  for (const auto& expected : kExpected) {
    SCOPED_TRACE(expected.name);
    const Headers headers = ParseExactly(expected.frame);
    EXPECT_EQ(headers.error, ParseError::kNone);
    EXPECT_EQ(headers.network, expected.network);
    EXPECT_EQ(headers.protocol, expected.protocol);
    EXPECT_EQ(headers.l3, expected.l3);
    EXPECT_EQ(headers.l4, expected.l4);
    EXPECT_EQ(headers.payload, expected.payload);
    EXPECT_EQ(headers.payload_bytes, expected.payload_bytes);
    EXPECT_EQ(headers.end, expected.end);
  }
}

TEST(Parse, ReadsTags) {
  const Headers one = ParseExactly(test::kVlanUdp4);
  EXPECT_EQ(one.vlan_tags, 1);
  EXPECT_EQ(one.vlan_tci[0], 0x6064);  // Priority 3, VLAN 100.
  EXPECT_EQ(one.ethertype, 0x0800);
  const Headers two = ParseExactly(test::kQinQUdp6);
  EXPECT_EQ(two.vlan_tags, 2);
  EXPECT_EQ(two.vlan_tci[0], 7);
  EXPECT_EQ(two.vlan_tci[1], 100);
  EXPECT_EQ(two.ethertype, 0x86dd);
}

TEST(Parse, ReadsFragmentFields) {
  const Headers first4 = ParseExactly(test::kUdp4FirstFragment);
  EXPECT_TRUE(first4.more_fragments);
  EXPECT_TRUE(first4.IsFragment());
  EXPECT_FALSE(first4.IsLaterFragment());
  const Headers later4 = ParseExactly(test::kUdp4LaterFragment);
  EXPECT_FALSE(later4.more_fragments);
  EXPECT_EQ(later4.fragment_offset, 24u);
  const Headers first6 = ParseExactly(test::kUdp6FirstFragment);
  EXPECT_TRUE(first6.more_fragments);
  EXPECT_EQ(first6.fragment_offset, 0u);
  const Headers later6 = ParseExactly(test::kUdp6LaterFragment);
  EXPECT_FALSE(later6.more_fragments);
  EXPECT_EQ(later6.fragment_offset, 24u);
  EXPECT_FALSE(ParseExactly(test::kUdp4).IsFragment());  // Don't Fragment is no fragment bit.
}

TEST(Parse, SeesARouteUnderWay) {
  EXPECT_TRUE(ParseExactly(test::kUdp6Routed).source_routed);
  EXPECT_FALSE(ParseExactly(With(test::kUdp6Routed, 14 + 40 + 3, 0)).source_routed);
  EXPECT_FALSE(ParseExactly(test::kUdp6).source_routed);
}

// Returns a frame with a header of 28 bytes, including 8 bytes of options, and without an upper
// protocol.
Bytes WithIpv4Options(std::string_view options) {
  Bytes frame(test::kUdp4.begin(), test::kUdp4.begin() + 34);
  const Bytes bytes = test::FromHex(options);
  frame.insert(frame.end(), bytes.begin(), bytes.end());
  frame[14] = 0x47;
  frame[17] = 28;
  frame[23] = 59;
  return frame;
}

TEST(Parse, ReadsIpv4SourceRoutes) {
  EXPECT_TRUE(ParseExactly(WithIpv4Options("8307040a00000900")).source_routed);
  EXPECT_TRUE(ParseExactly(WithIpv4Options("018907040a000009")).source_routed);
  EXPECT_FALSE(
      ParseExactly(WithIpv4Options("8307080a00000900")).source_routed);  // The route is completed.
  EXPECT_FALSE(
      ParseExactly(WithIpv4Options("0707040a00000900")).source_routed);  // A record route option.
  EXPECT_FALSE(ParseExactly(WithIpv4Options("008307040a000009"))
                   .source_routed);  // The option follows the end-of-options byte.
}

TEST(Parse, RefusesIpv4OptionsWithoutRoom) {
  EXPECT_EQ(ErrorOf(WithIpv4Options("0101010101010101")), ParseError::kNone);
  EXPECT_EQ(ErrorOf(WithIpv4Options("0101010101010183")), ParseError::kIpv4Options);
  EXPECT_EQ(ErrorOf(WithIpv4Options("8300000000000000")), ParseError::kIpv4Options);
  EXPECT_EQ(ErrorOf(WithIpv4Options("8301000000000000")), ParseError::kIpv4Options);
  EXPECT_EQ(ErrorOf(WithIpv4Options("8309040a00000900")), ParseError::kIpv4Options);
}

TEST(Parse, NamesWhatIsWrong) {
  using enum ParseError;
  constexpr size_t kIp = 14, kL4 = 34, kL4Ipv6 = 54;
  EXPECT_EQ(ErrorOf({}), kEthernetTruncated);
  EXPECT_EQ(ErrorOf(Bytes(13)), kEthernetTruncated);
  EXPECT_EQ(ErrorOf(Bytes(14)), kLlcLength);  // Length 0.
  EXPECT_EQ(ErrorOf(With(test::kSpanningTree, 13, 47)), kLlcLength);
  EXPECT_EQ(ErrorOf(With(test::kSpanningTree, 12, 0x05)), kLlcLength);
  EXPECT_EQ(ErrorOf(With(test::kUdp4, kIp, 0x65)), kIpv4Version);
  EXPECT_EQ(ErrorOf(With(test::kUdp4, kIp, 0x44)), kIpv4HeaderLength);
  EXPECT_EQ(ErrorOf(With(test::kUdp4, kIp, 0x4f)), kIpv4HeaderLength);  // 60 > 46.
  EXPECT_EQ(ErrorOf(With(test::kUdp4, kIp + 3, 19)), kIpv4HeaderLength);
  EXPECT_EQ(ErrorOf(With(test::kUdp4, kIp + 3, 47)), kIpv4TotalLength);
  EXPECT_EQ(ErrorOf(With(test::kUdp4, kL4 + 5, 7)), kUdpLength);
  EXPECT_EQ(ErrorOf(With(test::kUdp4, kL4 + 5, 27)), kUdpLength);
  EXPECT_EQ(ErrorOf(With(test::kUdp4, kIp + 3, 27)), kUdpTruncated);
  EXPECT_EQ(ErrorOf(With(test::kTcp4Syn, kL4 + 12, 0x40)), kTcpHeaderLength);
  EXPECT_EQ(ErrorOf(With(test::kTcp4Syn, kL4 + 12, 0x60)), kTcpHeaderLength);
  EXPECT_EQ(ErrorOf(With(test::kTcp4Syn, kIp + 3, 39)), kTcpTruncated);
  EXPECT_EQ(ErrorOf(With(test::kPing4, kIp + 3, 27)), kIcmpTruncated);
  EXPECT_EQ(ErrorOf(With(test::kUdp6, kIp, 0x40)), kIpv6Version);
  EXPECT_EQ(ErrorOf(With(test::kUdp6, kIp + 5, 27)), kIpv6PayloadLength);
  EXPECT_EQ(ErrorOf(With(test::kUdp6, kL4Ipv6 + 5, 27)), kUdpLength);
  EXPECT_EQ(ErrorOf(With(test::kTcp6Extensions, kL4Ipv6 + 1, 255)), kIpv6Extension);
  EXPECT_EQ(ErrorOf(With(test::kUdp6Authenticated, kL4Ipv6 + 1, 255)), kIpv6Extension);
  EXPECT_EQ(ErrorOf(Bytes(test::kArpRequest.begin(), test::kArpRequest.begin() + 41)),
            kArpTruncated);
}

TEST(Parse, AFragmentMayNotReachBeyond65535) {
  Bytes frame = test::kUdp4LaterFragment;  // 24 bytes of data.
  frame[20] = 0x1f;
  frame[21] = 0xff;  // The offset is 65528.
  EXPECT_EQ(ErrorOf(frame), ParseError::kFragmentRange);
  frame[21] = 0xfd;  // The offset is 65512, so the fragment ends at 65536.
  EXPECT_EQ(ErrorOf(frame), ParseError::kFragmentRange);
  frame[17] = 43;  // The fragment is one byte shorter.
  EXPECT_EQ(ErrorOf(frame), ParseError::kNone);
}

TEST(Parse, DataOfALaterFragmentIsNoExtensionHeader) {
  // If this were an extension header, its first bytes would announce a length of 2048 bytes.
  const Headers headers =
      ParseExactly(With(With(test::kUdp6LaterFragment, 54, kProtocolDestinationOptions), 63, 255));
  EXPECT_EQ(headers.error, ParseError::kNone);
  EXPECT_EQ(headers.protocol, kProtocolDestinationOptions);
  EXPECT_EQ(headers.payload, 62u);
}

TEST(Parse, StopsAfterEightExtensionHeaders) {
  const auto chain = [](size_t count) {
    Bytes frame(test::kUdp6.begin(), test::kUdp6.begin() + 54);
    frame[20] = 60;  // Destination options.
    for (size_t i = 0; i < count; ++i) {
      const Bytes option{static_cast<uint8_t>(i + 1 < count ? 60 : 59), 0, 1, 4, 0, 0, 0, 0};
      frame.insert(frame.end(), option.begin(), option.end());
    }
    frame[19] = static_cast<uint8_t>(count * 8);
    return frame;
  };
  EXPECT_EQ(ErrorOf(chain(8)), ParseError::kNone);
  EXPECT_EQ(ErrorOf(chain(9)), ParseError::kIpv6Extension);
}

TEST(Parse, BytesBetweenTheEndsOfUdpAndIpAreNoPayload) {
  const Headers headers = ParseExactly(With(test::kUdp4, 34 + 5, 10));
  EXPECT_EQ(headers.error, ParseError::kNone);
  EXPECT_EQ(headers.payload_bytes, 2u);
  EXPECT_EQ(headers.end, 60u);
}

TEST(Parse, AThirdTagIsPayload) {
  Bytes frame = test::kQinQUdp6;
  frame[20] = 0x81;
  frame[21] = 0x00;
  const Headers headers = ParseExactly(frame);
  EXPECT_EQ(headers.error, ParseError::kNone);
  EXPECT_EQ(headers.network, Network::kOther);
  EXPECT_EQ(headers.payload, 22u);
}

// Parsing a frame that is truncated before its end must return an error. Exceptions are frames
// without a length field, and frames that lose only Ethernet padding.
TEST(Parse, EveryTruncationOfEveryFixtureIsBounded) {
  for (const test::Fixture& fixture : test::kFixtures) {
    SCOPED_TRACE(fixture.name);
    const Headers whole = ParseExactly(*fixture.bytes);
    const bool has_length = whole.network != Network::kOther || whole.ethertype < 1536;
    for (size_t size = 0; size <= fixture.bytes->size(); ++size) {
      const test::ExactBuffer buffer(std::span(*fixture.bytes).first(size));
      const Headers headers = Parse(buffer.data(), buffer.size());
      const uint32_t needed = whole.network == Network::kArp ? whole.l3 + 28
                              : has_length                   ? whole.end
                                                             : 14;
      ASSERT_EQ(headers.error == ParseError::kNone, size >= needed) << size;
      ASSERT_LE(headers.end, size);
      ASSERT_LE(headers.payload + headers.payload_bytes, size);
      ASSERT_LE(headers.l4, size);
      if (headers.error == ParseError::kNone) {
        ASSERT_LE(headers.L4ChecksumOffset() + 2, size);
      }
    }
  }
}

TEST(Parse, TheFixturesChecksumsHold) {
  for (const test::Fixture& fixture : test::kFixtures) {
    const Headers headers = ParseExactly(*fixture.bytes);
    EXPECT_TRUE(test::ChecksumsHold(fixture.bytes->data(), headers)) << fixture.name;
  }
}

TEST(PlainHeaders, EqualThoseOfParseForEveryPlainFrame) {
  // Bytes that decide whether a frame is plain: EtherType, version and header length, total length,
  // fragment bits, protocol, and the length fields of UDP and TCP.
  constexpr size_t kDeciding[] = {12, 13, 14, 16, 17, 20, 21, 23, 38, 39, 46};
  std::mt19937 random(1);
  uint32_t plain[2] = {};
  for (int round = 0; round < 100'000; ++round) {
    const bool tcp = round % 2 != 0;
    Bytes frame = tcp ? test::kTcp4Options : test::kUdp4;
    for (uint32_t changes = random() % 3; changes > 0; --changes) {
      frame.at(kDeciding[random() % std::size(kDeciding)]) = static_cast<uint8_t>(random() % 80);
    }
    frame.resize(frame.size() - random() % 4);
    const test::ExactBuffer buffer(frame);
    if (!IsPlainUdpOrTcp(buffer.data(), buffer.size())) continue;
    ++plain[tcp];
    ASSERT_EQ(PlainHeaders(buffer.data()), Parse(buffer.data(), buffer.size())) << round;
  }
  EXPECT_GT(plain[0], 1000u);
  EXPECT_GT(plain[1], 1000u);
}

}  // namespace
}  // namespace sluice::packet
