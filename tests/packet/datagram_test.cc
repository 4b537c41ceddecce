// SPDX-License-Identifier: BSD-3-Clause
#include "packet/datagram.h"

#include <gtest/gtest.h>

#include "fixtures.h"
#include "oracle.h"

namespace sluice::packet {
namespace {

using test::Bytes;
using Kind = Datagram::Kind;

Datagram In(const Bytes& frame) {
  const test::ExactBuffer buffer(frame);
  return Datagram::In(buffer.data(), buffer.size());
}

Bytes Changed(Bytes frame, size_t at, uint8_t value) {
  frame.at(at) = value;
  return frame;
}
Bytes Cut(const Bytes& frame, size_t bytes) { return Bytes(frame.begin(), frame.begin() + bytes); }

TEST(Datagram, IsFoundWhereverItLiesOrSaysWhatElseThereIs) {
  const struct {
    const char* name;
    Bytes frame;
    Kind kind;
    uint32_t payload, payload_bytes;
  } kCases[] = {
      {"udp4", test::kUdp4, Kind::kUdp, 42, 18},
      {"udp4 no checksum", test::kUdp4NoChecksum, Kind::kUdp, 42, 18},
      {"udp4 empty", test::kUdp4Empty, Kind::kUdp, 42, 0},
      {"udp4 empty, no padding", Cut(test::kUdp4Empty, 42), Kind::kUdp, 42, 0},
      {"vlan udp4", test::kVlanUdp4, Kind::kUdp, 46, 18},
      {"udp6", test::kUdp6, Kind::kUdp, 62, 18},
      {"qinq udp6", test::kQinQUdp6, Kind::kUdp, 70, 18},
      {"udp4, first byte changed", Changed(test::kUdp4, 42, 0x31), Kind::kBadChecksum, 42, 18},
      {"udp4, last byte changed", Changed(test::kUdp4, 59, 0x42), Kind::kBadChecksum, 42, 18},
      {"udp6 changed", Changed(test::kUdp6, 79, 0x42), Kind::kBadChecksum, 62, 18},
      {"udp4, a byte short", Cut(test::kUdp4, 59), Kind::kMalformed, 0, 0},
      {"udp4, longer than IP", Changed(test::kUdp4, 39, 27), Kind::kMalformed, 0, 0},
      {"udp4, length 7", Changed(test::kUdp4, 39, 7), Kind::kMalformed, 0, 0},
      {"first fragment", test::kUdp4FirstFragment, Kind::kFragment, 0, 0},
      {"later fragment", test::kUdp4LaterFragment, Kind::kFragment, 0, 0},
      {"ip options", test::kUdp4IpOptions, Kind::kOptions, 0, 0},
      {"routing header", test::kUdp6Routed, Kind::kOptions, 0, 0},
      {"tcp", test::kTcp4Syn, Kind::kOther, 0, 0},
      {"arp", test::kArpRequest, Kind::kOther, 0, 0},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const Datagram found = In(c.frame);
    EXPECT_EQ(found.kind, c.kind);
    EXPECT_EQ(found.payload, c.payload);
    EXPECT_EQ(found.payload_bytes, c.payload_bytes);
    if (found.kind == Kind::kUdp) {
      EXPECT_EQ(found.port, 2000);
    }
  }
  // RFC 8200 section 8.1: UDP over IPv6 requires a checksum.
  EXPECT_EQ(In(Changed(Changed(test::kUdp6, 60, 0), 61, 0)).kind, Kind::kBadChecksum);
}

// The answer has the length of the request, with swapped addresses and ports. Its sum therefore
// equals that of the fixture until the payload changes.
TEST(Datagram, AnswersWithAChecksumIfItCameWithOne) {
  const struct {
    const char* name;
    const Bytes& question;
    uint16_t first_word;  ///< First word of a payload for which the sum is ffff.
    uint16_t checksum;    ///< Checksum of the fixture with its original payload.
  } kCases[] = {
      // The value is 0x3031 plus the checksum, including the carry.
      {"udp4", test::kUdp4, 0x162e, 0xe5fc},
      {"vlan udp4", test::kVlanUdp4, 0x162e, 0xe5fc},
      {"udp6", test::kUdp6, 0x302c, 0xfffa},
      {"qinq udp6", test::kQinQUdp6, 0x302c, 0xfffa},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const Datagram asked = In(c.question);
    ASSERT_EQ(asked.kind, Kind::kUdp);
    ASSERT_TRUE(asked.summed);
    const uint32_t field = asked.l4() + 6;
    test::ExactBuffer frame(c.question);
    asked.Answer(frame.data(), 18);
    EXPECT_EQ(LoadBe16(frame.data() + field), c.checksum);
    EXPECT_EQ(LoadBe16(frame.data() + asked.l4()), 2000) << "ports change places";
    EXPECT_EQ(LoadBe16(frame.data() + asked.l4() + 2), 1000);
    EXPECT_EQ(LoadBe16(frame.data() + asked.l4() + 4), 26);

    test::ExactBuffer zero(c.question);
    StoreBe16(zero.data() + asked.payload, c.first_word);
    asked.Answer(zero.data(), 18);
    EXPECT_EQ(LoadBe16(zero.data() + field), 0xffff) << "RFC 768: 0 would say that there is none";
    for (const test::ExactBuffer* answer : {&frame, &zero}) {
      const Headers headers = Parse(answer->data(), answer->size());
      EXPECT_TRUE(test::ChecksumsHold(answer->data(), headers));
    }
  }
  const Datagram asked = In(test::kUdp4NoChecksum);
  EXPECT_FALSE(asked.summed);
  test::ExactBuffer frame(test::kUdp4NoChecksum);
  asked.Answer(frame.data(), 18);
  EXPECT_EQ(LoadBe16(frame.data() + 40), 0);
}

}  // namespace
}  // namespace sluice::packet
