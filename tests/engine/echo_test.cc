// SPDX-License-Identifier: BSD-3-Clause
#include "engine/echo/echo.h"

#include <gtest/gtest.h>

#include "nic/frame_queue.h"
#include "packet/fixtures.h"
#include "packet/oracle.h"
#include "packet/parse.h"

namespace sluice::engine {
namespace {

using packet::Frame;
using packet::Headers;
using packet::Verdict;
using test::Bytes;
using test::ExactBuffer;

static_assert(packet::FrameEngine<IncrementEcho> && packet::FrameEngine<ReflectEcho>);

template <typename Engine>
Verdict Echo(const ExactBuffer& buffer) {
  Engine engine;
  Frame frame{buffer.data(), buffer.size(), 0, 0};
  const Verdict verdict = engine.Process(frame, 0);
  EXPECT_EQ(frame.data, buffer.data());
  EXPECT_EQ(frame.length, buffer.size());
  return verdict;
}

template <typename Engine>
Verdict Echo(Bytes& bytes) {
  const ExactBuffer buffer(bytes);
  const Verdict verdict = Echo<Engine>(buffer);
  bytes = buffer.bytes();
  return verdict;
}

/// A frame and the offset of its payload, counted by hand; 0 without payload.
struct PayloadOf {
  std::string_view name;
  const Bytes& frame;
  uint32_t offset;
};
const PayloadOf kPayloads[] = {
    {"udp4", test::kUdp4, 42},
    {"udp4 no checksum", test::kUdp4NoChecksum, 42},
    {"udp4 empty", test::kUdp4Empty, 0},
    {"tcp4 options", test::kTcp4Options, 66},
    {"tcp4 syn", test::kTcp4Syn, 0},
    {"udp4 ip options", test::kUdp4IpOptions, 46},
    {"vlan udp4", test::kVlanUdp4, 46},
    {"qinq udp6", test::kQinQUdp6, 70},
    {"udp6", test::kUdp6, 62},
    {"tcp6 extensions", test::kTcp6Extensions, 90},
    {"udp6 routed", test::kUdp6Routed, 86},
    {"udp6 authenticated", test::kUdp6Authenticated, 86},
    {"udp4 first fragment", test::kUdp4FirstFragment, 42},
    {"udp6 first fragment", test::kUdp6FirstFragment, 70},
    {"ping4", test::kPing4, 42},
    {"ping6", test::kPing6, 62},
    {"gre", test::kGre4, 34},
    {"lldp", test::kLldp, 14},
};

TEST(IncrementEcho, IncrementsTheFirstPayloadByteAndNothingElse) {
  for (const PayloadOf& payload : kPayloads) {
    SCOPED_TRACE(payload.name);
    Bytes frame = payload.frame;
    EXPECT_EQ(Echo<IncrementEcho>(frame), packet::kForward);
    Bytes expected = payload.frame;
    if (payload.offset != 0) ++expected[payload.offset];
    EXPECT_EQ(frame, expected);
  }
}

TEST(IncrementEcho, WrapsTheByteWithoutCarry) {
  Bytes frame = test::kUdp4;
  for (int round = 0; round < 256; ++round) Echo<IncrementEcho>(frame);
  EXPECT_EQ(frame, test::kUdp4);
}

TEST(IncrementEcho, PaddingIsNoPayload) {
  Bytes frame = test::kUdp4;
  frame[17] = 28;  // The total length covers only the IPv4 and UDP headers.
  frame[39] = 8;
  const Bytes before = frame;
  Echo<IncrementEcho>(frame);
  EXPECT_EQ(frame, before);
  frame[17] = 29;
  frame[39] = 9;
  Echo<IncrementEcho>(frame);
  EXPECT_EQ(frame[42], before[42] + 1);
}

TEST(IncrementEcho, ForwardsTheLaterFragmentOfAUdpDatagramWithAByteOfItsDataIncremented) {
  // The data begins at 34; the engine skips 8 bytes, the size of a UDP header.
  Bytes frame = test::kUdp4LaterFragment;
  EXPECT_EQ(Echo<IncrementEcho>(frame), packet::kForward);
  Bytes expected = test::kUdp4LaterFragment;
  ++expected[42];
  EXPECT_EQ(frame, expected);
}

TEST(IncrementEcho, ForwardsMalformedFramesUntouched) {
  for (const Bytes& bad : {Bytes{}, Bytes(13, 0xff), Bytes(60, 0x00)}) {
    Bytes frame = bad;
    EXPECT_EQ(Echo<IncrementEcho>(frame), packet::kForward);
    EXPECT_EQ(frame, bad);
  }
  Bytes liar = test::kUdp6;
  liar[19] = 27;  // The payload length extends beyond the frame.
  const Bytes before = liar;
  Echo<IncrementEcho>(liar);
  EXPECT_EQ(liar, before);
}

TEST(IncrementEcho, LeavesATcpHeaderThatLiesAlone) {
  for (const uint8_t data_offset :
       {0x00, 0x40, 0xf0}) {  // Header lengths of 0, 16 and 60 bytes; the last exceeds the frame.
    Bytes frame = test::kTcp4Options;
    frame[46] = data_offset;
    const Bytes before = frame;
    Echo<IncrementEcho>(frame);
    EXPECT_EQ(frame, before);
  }
}

// The inlined fast paths of the engines must agree with the general path, which a frame with a VLAN
// tag uses.
TEST(EchoEngines, ShortcutsAgreeWithTheGeneralWay) {
  for (const test::Fixture& fixture : test::kFixtures) {
    if (fixture.bytes == &test::kQinQUdp6) continue;  // A third tag is not parsed.
    for (size_t i = 14; i < fixture.bytes->size(); ++i) {
      for (const uint8_t value : {0x00, 0x08, 0x1a, 0x20, 0x80, 0xff}) {
        Bytes plain = *fixture.bytes;
        plain[i] = value;
        // IncrementEcho ignores the UDP length and the fragment offset.
        const bool later = (packet::LoadBe16(&plain[20]) & 0x1fff) != 0;
        const bool lying = packet::LoadBe16(&plain[38]) != packet::LoadBe16(&plain[16]) - 20;
        const bool excepted = plain[23] == 17 && (later || lying);
        Bytes tagged = plain;
        const uint8_t tag[] = {0x81, 0, 0, 1};
        tagged.insert(tagged.begin() + 12, tag, tag + 4);
        Bytes plain_incremented = plain, tagged_incremented = tagged;
        const Verdict verdict = Echo<ReflectEcho>(plain);
        ASSERT_EQ(verdict, Echo<ReflectEcho>(tagged));
        tagged.erase(tagged.begin() + 12, tagged.begin() + 16);
        ASSERT_EQ(plain, tagged) << fixture.name << " " << i << " " << int{value};
        if (excepted) continue;
        Echo<IncrementEcho>(plain_incremented);
        Echo<IncrementEcho>(tagged_incremented);
        tagged_incremented.erase(tagged_incremented.begin() + 12, tagged_incremented.begin() + 16);
        ASSERT_EQ(plain_incremented, tagged_incremented) << fixture.name << " " << i;
      }
    }
  }
}

TEST(ReflectEcho, ReturnsAUdpDatagramToItsSender) {
  Bytes frame = test::kUdp4;
  EXPECT_EQ(Echo<ReflectEcho>(frame), packet::kForward);
  // The first payload byte, 0x30, is now 0x31. It is the high byte of its word, so the checksum
  // 0xe5fc decreases by 0x0100.
  EXPECT_EQ(frame, test::FromHex("020000000001020000000002080045"
                                 "00002e12344000401114890a0000020a000001"
                                 "07d003e8001ae4fc"
                                 "313132333435363738393a3b3c3d3e3f4041"));
}

TEST(ReflectEcho, ReturnsATcpSegmentToItsSender) {
  Bytes frame = test::kTcp4Options;
  EXPECT_EQ(Echo<ReflectEcho>(frame), packet::kForward);
  // "hello" became "iello", so the checksum 0x60da decreases by 0x0100.
  EXPECT_EQ(frame, test::FromHex("0200000000010200000000020800"
                                 "4510003900010000400666ac0a0000020a000001"
                                 "01bb9c400000000100000002801820005fda0000"
                                 "0101080a0000000100000002"
                                 "69656c6c6f"));
}

TEST(ReflectEcho, SwapsAndRepairsEveryKindOfFrame) {
  for (const PayloadOf& payload : kPayloads) {
    if (&payload.frame == &test::kUdp6Routed) continue;
    SCOPED_TRACE(payload.name);
    const Bytes& before = payload.frame;
    const Headers headers = packet::Parse(before.data(), static_cast<uint32_t>(before.size()));
    Bytes after = before;
    ASSERT_EQ(Echo<ReflectEcho>(after), packet::kForward);
    const auto part = [](const Bytes& frame, uint32_t from, uint32_t size) {
      return Bytes(frame.begin() + from, frame.begin() + from + size);
    };
    EXPECT_EQ(part(after, 0, 6), part(before, 6, 6));
    EXPECT_EQ(part(after, 6, 6), part(before, 0, 6));
    if (headers.network == packet::Network::kIpv4) {
      EXPECT_EQ(part(after, headers.l3 + 12, 4), part(before, headers.l3 + 16, 4));
      EXPECT_EQ(part(after, headers.l3 + 16, 4), part(before, headers.l3 + 12, 4));
    } else if (headers.network == packet::Network::kIpv6) {
      EXPECT_EQ(part(after, headers.l3 + 8, 16), part(before, headers.l3 + 24, 16));
      EXPECT_EQ(part(after, headers.l3 + 24, 16), part(before, headers.l3 + 8, 16));
    }
    if (headers.HasPorts()) {
      EXPECT_EQ(part(after, headers.l4, 2), part(before, headers.l4 + 2, 2));
      EXPECT_EQ(part(after, headers.l4 + 2, 2), part(before, headers.l4, 2));
    }
    if (payload.offset != 0) {
      EXPECT_EQ(after[payload.offset], before[payload.offset] + 1);
      const auto rest = static_cast<uint32_t>(before.size()) - payload.offset - 1;
      EXPECT_EQ(part(after, payload.offset + 1, rest), part(before, payload.offset + 1, rest));
    }
    EXPECT_TRUE(test::ChecksumsHold(after.data(), headers));
  }
}

TEST(ReflectEcho, AFirstFragmentsChecksumFollowsItsByte) {
  Bytes frame = test::kUdp4FirstFragment;
  ASSERT_EQ(Echo<ReflectEcho>(frame), packet::kForward);
  EXPECT_EQ(packet::LoadBe16(frame.data() + 40), 0x6242 - 0x0100);
}

TEST(ReflectEcho, ALaterFragmentKeepsItsData) {
  for (const Bytes* fragment : {&test::kUdp4LaterFragment, &test::kUdp6LaterFragment}) {
    Bytes frame = *fragment;
    ASSERT_EQ(Echo<ReflectEcho>(frame), packet::kForward);
    const size_t data = fragment->size() - 24;
    EXPECT_EQ(Bytes(frame.begin() + data, frame.end()),
              Bytes(fragment->begin() + data, fragment->end()));
    EXPECT_EQ(Bytes(frame.begin(), frame.begin() + 6),
              Bytes(fragment->begin() + 6, fragment->begin() + 12));
  }
}

TEST(ReflectEcho, NoUdpChecksumStaysNone) {
  Bytes frame = test::kUdp4NoChecksum;
  Echo<ReflectEcho>(frame);
  EXPECT_EQ(packet::LoadBe16(frame.data() + 40), 0);
}

// Two reflections restore the original except for the byte and the checksum that covers the byte.
// The test uses all values of the byte, so it covers every carry.
TEST(ReflectEcho, TwiceIsTheOriginalPlusTwo) {
  for (const PayloadOf& payload : kPayloads) {
    if (&payload.frame == &test::kUdp6Routed) continue;
    SCOPED_TRACE(payload.name);
    Bytes original = payload.frame;
    const Headers headers = packet::Parse(original.data(), static_cast<uint32_t>(original.size()));
    for (int round = 0; round < 128; ++round) {
      Bytes twice = original;
      Echo<ReflectEcho>(twice);
      Echo<ReflectEcho>(twice);
      ASSERT_TRUE(test::ChecksumsHold(twice.data(), headers));
      const Bytes result = twice;
      if (payload.offset != 0) {
        ASSERT_EQ(twice[payload.offset], static_cast<uint8_t>(original[payload.offset] + 2));
        twice[payload.offset] = original[payload.offset];
      }
      if (const uint32_t field = headers.L4ChecksumOffset(); field != 0) {
        twice[field] = original[field];
        twice[field + 1] = original[field + 1];
      }
      ASSERT_EQ(twice, original);
      original = result;
    }
  }
}

TEST(ReflectEcho, NeverAnswersFromOrToAGroup) {
  const auto with = [](Bytes frame, size_t offset, uint8_t value) {
    frame[offset] = value;
    return frame;
  };
  const Verdict kFromGroup = packet::Drop(ReflectEcho::kGroupDestination);
  const Verdict kToGroup = packet::Drop(ReflectEcho::kGroupSource);
  const struct {
    Bytes frame;
    Verdict verdict;
  } kFrames[] = {
      {with(test::kUdp4, 0, 0x01), kFromGroup},  // Multicast destination MAC.
      {with(test::kUdp4, 0, 0xff), kFromGroup},
      {with(test::kUdp4, 6, 0x03), kToGroup},
      {with(test::kUdp4, 30, 224), kFromGroup},  // Multicast destination 224.0.0.2.
      {with(test::kUdp4, 30, 255), kFromGroup},
      {with(test::kUdp4, 26, 239), kToGroup},
      {with(test::kUdp6, 14 + 24, 0xff), kFromGroup},
      {with(test::kUdp6, 14 + 8, 0xff), kToGroup},
      {test::kArpRequest, kFromGroup},
      {test::kSpanningTree, kFromGroup},
  };
  for (const auto& expected : kFrames) {
    Bytes frame = expected.frame;
    EXPECT_EQ(Echo<ReflectEcho>(frame), expected.verdict);
    EXPECT_EQ(frame, expected.frame);
  }
  Bytes frame = with(test::kUdp4, 30, 223);
  EXPECT_EQ(Echo<ReflectEcho>(frame), packet::kForward);
}

TEST(ReflectEcho, LeavesASourceRouteWithStopsAheadAlone) {
  Bytes frame = test::kUdp6Routed;
  EXPECT_EQ(Echo<ReflectEcho>(frame), packet::Drop(ReflectEcho::kSourceRouted));
  EXPECT_EQ(frame, test::kUdp6Routed);
}

TEST(ReflectEcho, DropsMalformedFramesUntouched) {
  Bytes frame = test::kUdp4;
  frame[39] = 7;  // UDP length below 8.
  const Bytes before = frame;
  EXPECT_EQ(Echo<ReflectEcho>(frame), packet::Drop(ReflectEcho::kMalformed));
  EXPECT_EQ(frame, before);
  EXPECT_EQ(ReflectEcho::kDropReasons[ReflectEcho::kMalformed], "malformed");
}

TEST(ReflectEcho, RepairsAnIcmpMessageThatBecomesAllZero) {
  Bytes frame = test::kPing4Zero;
  frame[34] = 0;  // Echo reply 0/0 with data of 0xff and zeros.
  frame[42] = 0xff;
  frame[36] = 0x00;
  frame[37] = 0xff;
  ASSERT_EQ(Echo<ReflectEcho>(frame), packet::kForward);
  EXPECT_EQ(packet::LoadBe16(frame.data() + 36), 0xffff);
}

// A truncated frame must be handled without accesses beyond its end: reflected if it is still
// complete, dropped otherwise, and counted in both cases.
TEST(EchoEngines, EveryTruncationOfEveryFixture) {
  for (const test::Fixture& fixture : test::kFixtures) {
    for (size_t size = 0; size <= fixture.bytes->size(); ++size) {
      const Bytes cut(fixture.bytes->begin(), fixture.bytes->begin() + size);
      const ExactBuffer reflected(cut), incremented(cut);
      const Verdict verdict = Echo<ReflectEcho>(reflected);
      const bool whole =
          packet::Parse(cut.data(), static_cast<uint32_t>(size)).error == packet::ParseError::kNone;
      ASSERT_EQ(verdict == packet::Drop(ReflectEcho::kMalformed), !whole);
      if (verdict.action == packet::Action::kDrop) {
        ASSERT_EQ(reflected.bytes(), cut);
      }
      ASSERT_EQ(Echo<IncrementEcho>(incremented), packet::kForward);
      int changed = 0;
      for (size_t i = 0; i < size; ++i) changed += incremented.data()[i] != cut[i];
      ASSERT_LE(changed, 1);
    }
  }
}

}  // namespace
}  // namespace sluice::engine
