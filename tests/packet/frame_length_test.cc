// SPDX-License-Identifier: BSD-3-Clause
#include "packet/frame_length.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fixtures.h"

namespace sluice::packet {
namespace {

using test::Bytes;

/// Calls FrameLength with the first flit of a frame, in an allocation of exactly the flit's size.
/// Bytes after the frame are arbitrary, as in a pipe.
uint32_t LengthOf(Bytes frame) {
  frame.resize(kFlitBytes, 0xa5);
  return FrameLength(test::ExactBuffer(frame).data());
}

/// Calls LengthOf with a frame that has `shape` after its MAC addresses.
uint32_t LengthOfShape(std::string_view shape) {
  Bytes frame(12, 0x02);
  const Bytes rest = test::FromHex(shape);
  frame.insert(frame.end(), rest.begin(), rest.end());
  return LengthOf(frame);
}

TEST(FrameLength, OfEveryFixture) {
  const struct {
    const Bytes& frame;
    uint32_t length;
  } kExpected[] = {
      {test::kUdp4, 60},               // 14 + 46
      {test::kUdp4Empty, 42},          // 14 + 28, without padding
      {test::kTcp4Options, 71},        // 14 + 57
      {test::kTcp4Syn, 54},            // 14 + 40
      {test::kUdp4IpOptions, 64},      // 14 + 50; the header length is 24
      {test::kVlanUdp4, 64},           // 18 + 46
      {test::kQinQUdp6, 88},           // 22 + 40 + 26
      {test::kVlanArp, 46},            // 18 + 28
      {test::kUdp6, 80},               // 14 + 40 + 26
      {test::kTcp6Extensions, 93},     // 14 + 40 + 39
      {test::kUdp4FirstFragment, 58},  // 14 + 44
      {test::kUdp4LaterFragment, 58},
      {test::kPing4, 60},
      {test::kSolicitation, 86},  // 14 + 40 + 32
      {test::kArpRequest, 42},    // 14 + 28
      {test::kSpanningTree, 52},  // 14 + 38
      {test::kLldp, 0},           // This type has no length.
  };
  for (const auto& expected : kExpected) {
    EXPECT_EQ(LengthOf(expected.frame), expected.length);
  }
}

TEST(FrameLength, NeedsNoMoreFlitsThanTheFrameHas) {
  for (const test::Fixture& fixture : test::kFixtures) {
    const uint32_t length = LengthOf(*fixture.bytes);
    if (length == 0) continue;
    const auto frame_bytes = static_cast<uint32_t>(fixture.bytes->size());
    EXPECT_EQ(FlitCount(length), FlitCount(frame_bytes)) << fixture.name;
  }
}

TEST(FrameLength, ZeroedMemoryIsNoFrame) { EXPECT_EQ(LengthOf(Bytes(kFlitBytes, 0)), 0u); }

TEST(FrameLength, Ipv4TotalLengthBelowTheHeaderIsNone) {
  EXPECT_EQ(LengthOfShape("0800450000000000"), 0u);
  EXPECT_EQ(LengthOfShape("0800450000130000"), 0u);
  EXPECT_EQ(LengthOfShape("0800450000140000"), 34u);
  EXPECT_EQ(LengthOfShape("08004500001c0000"), 42u);
  EXPECT_EQ(LengthOfShape("08004500001d0000"), 43u);
}

TEST(FrameLength, Ipv4TotalLengthAtItsMaximum) {
  EXPECT_EQ(LengthOfShape("08004500ffff0000"), 65549u);
  EXPECT_EQ(LengthOfShape("08004f00ffff0000"), 65549u);
}

TEST(FrameLength, LooksAtNothingButTypeVersionAndLength) {
  EXPECT_EQ(LengthOfShape("080045ff002eabcd"), 60u);  // Other TOS and identification.
  EXPECT_EQ(LengthOfShape("08004f00002e0000"), 60u);  // Options.
}

TEST(FrameLength, AVersionThatContradictsTheTypeIsNone) {
  EXPECT_EQ(LengthOfShape("08006500002e0000"), 0u);
  EXPECT_EQ(LengthOfShape("86dd450000000010"), 0u);
  EXPECT_EQ(LengthOfShape("8100000108006500002e0000"), 0u);
}

TEST(FrameLength, Ipv6WithoutPayload) { EXPECT_EQ(LengthOfShape("86dd600000000000"), 54u); }

TEST(FrameLength, TagsOfAllThreeTypesAreLookedThrough) {
  EXPECT_EQ(LengthOfShape("8100000108004500002e0000"), 64u);
  EXPECT_EQ(LengthOfShape("88a8000108004500002e0000"), 64u);
  EXPECT_EQ(LengthOfShape("9100000108004500002e0000"), 64u);
  EXPECT_EQ(LengthOfShape("88a80001810000020806000108000604"), 50u);
}

TEST(FrameLength, AThirdTagIsNone) {
  EXPECT_EQ(LengthOfShape("88a8000181000002810000030800450000280000"), 0u);
}

TEST(FrameLength, Ieee8023LengthsEndAt1500) {
  EXPECT_EQ(LengthOfShape("0002424203"), 0u);  // LLC has at least three bytes.
  EXPECT_EQ(LengthOfShape("0003424203"), 17u);
  EXPECT_EQ(LengthOfShape("05dc424203"), 1514u);
  EXPECT_EQ(LengthOfShape("05dd424203"), 0u);  // 1501…1535 are neither length nor type.
  EXPECT_EQ(LengthOfShape("05ff424203"), 0u);
  EXPECT_EQ(LengthOfShape("0600424203"), 0u);
}

TEST(LeadingWord, OneComparisonSaysPlainIpv4AndItsRangeOfLengths) {
  const auto within = [](std::initializer_list<uint8_t> shape, uint32_t least, uint32_t most) {
    Bytes frame(kFlitBytes, 0xff);
    std::copy(shape.begin(), shape.end(), frame.begin() + 12);
    return LeadingWord::Of(frame.data()).IsPlainIpv4Within(least, most);
  };
  for (uint32_t total = 0; total <= 0xffff; ++total) {
    const uint8_t high = total >> 8, low = total & 0xff;
    for (const uint8_t type_of_service : {0x00, 0x01, 0xb8, 0xff}) {
      ASSERT_EQ(within({0x08, 0x00, 0x45, type_of_service, high, low}, 29, 1522),
                total >= 29 && total <= 1522);
    }
    ASSERT_TRUE(within({0x08, 0x00, 0x45, 0x00, high, low}, 0, 65535));
    ASSERT_FALSE(within({0x08, 0x00, 0x46, 0x00, high, low}, 0, 65535));  // Options.
    ASSERT_FALSE(within({0x08, 0x00, 0x44, 0x00, high, low}, 0, 65535));
    ASSERT_FALSE(within({0x08, 0x00, 0x65, 0x00, high, low}, 0, 65535));
    ASSERT_FALSE(within({0x08, 0x01, 0x45, 0x00, high, low}, 0, 65535));
    ASSERT_FALSE(within({0x07, 0xff, 0x45, 0x00, high, low}, 0, 65535));
  }
}

TEST(FrameLength, SpansAreWholeFlits) {
  EXPECT_EQ(FlitCount(1), 1u);
  EXPECT_EQ(FlitCount(64), 1u);
  EXPECT_EQ(FlitCount(65), 2u);
  EXPECT_EQ(FlitCount(1514), 24u);
  EXPECT_EQ(FlitSpan(64), 64u);
  EXPECT_EQ(FlitSpan(65), 128u);
  EXPECT_EQ(FlitSpan(65549), 65600u);
}

// Walks over all fixtures, laid out back to back, as a pipe's reader does.
TEST(FrameLength, WalksAPipeOfMixedFrames) {
  Bytes pipe;
  std::vector<uint32_t> starts;
  for (const test::Fixture& fixture : test::kFixtures) {
    if (fixture.bytes == &test::kLldp) continue;
    starts.push_back(static_cast<uint32_t>(pipe.size()));
    pipe.insert(pipe.end(), fixture.bytes->begin(), fixture.bytes->end());
    pipe.resize(FlitSpan(static_cast<uint32_t>(pipe.size())), 0xee);
  }
  const test::ExactBuffer buffer(pipe);
  std::vector<uint32_t> found;
  for (uint32_t at = 0; at < buffer.size();) {
    found.push_back(at);
    const uint32_t length = FrameLength(buffer.data() + at);
    ASSERT_NE(length, 0u);
    at += FlitSpan(length);
  }
  EXPECT_EQ(found, starts);
}

bool CutsWell(const Bytes& frame) {
  const test::ExactBuffer buffer(frame);
  return TotalLengthCutsWell(buffer.data(), buffer.size());
}

TEST(TotalLengthCutsWell, OnlyUntaggedIpv4) {
  for (const Bytes* good : {&test::kUdp4, &test::kUdp4Empty, &test::kTcp4Options,
                            &test::kUdp4IpOptions, &test::kPing4, &test::kUdp4LaterFragment}) {
    EXPECT_TRUE(CutsWell(*good));
  }
  for (const Bytes* bad : {&test::kVlanUdp4, &test::kQinQUdp6, &test::kUdp6, &test::kArpRequest,
                           &test::kSpanningTree, &test::kLldp}) {
    EXPECT_FALSE(CutsWell(*bad));
  }
}

TEST(TotalLengthCutsWell, ComparesFlitsNotBytes) {
  Bytes frame = test::kUdp4;  // 60 bytes, total length 46.
  frame.resize(64);           // A trailer within the flit is lost, but the next frame is found.
  EXPECT_TRUE(CutsWell(frame));
  frame.resize(65);
  EXPECT_FALSE(CutsWell(frame));
  frame.resize(60);
  frame[17] = 50;  // The claimed 64 bytes include the rest of the flit.
  EXPECT_TRUE(CutsWell(frame));
  frame[17] = 51;  // The claimed 65 bytes reach into the next flit.
  EXPECT_FALSE(CutsWell(frame));
}

TEST(TotalLengthCutsWell, RefusesWhatTheCutterWouldReadAsRunt) {
  Bytes frame = test::kUdp4;
  frame[16] = 0;
  for (uint8_t total_length = 0; total_length < 20; ++total_length) {
    frame[17] = total_length;
    EXPECT_FALSE(CutsWell(frame));
  }
}

TEST(TotalLengthCutsWell, RefusesEveryFrameShorterThanItsHeaders) {
  for (size_t size = 0; size < 34; ++size) {
    EXPECT_FALSE(CutsWell(Bytes(test::kUdp4.begin(), test::kUdp4.begin() + size)));
  }
}

}  // namespace
}  // namespace sluice::packet
