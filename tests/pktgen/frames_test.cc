// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a stream's frames: headers according to the standards, checksums that are correct for every
// tag, the cycle of field values, and a fair division among workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "engine/pktgen/stream.h"
#include "packet/checksum.h"
#include "packet/parse.h"

namespace sluice::engine::pktgen {
namespace {

using packet::LoadBe16;
using packet::LoadBe32;

std::vector<uint8_t> Bytes(const FrameSet& frames, size_t index, bool stamped = false) {
  const FrameSet::Entry& entry = frames.entry(index);
  std::vector<uint8_t> frame(frames.bytes(entry), frames.bytes(entry) + entry.length);
  if (stamped) {
    Tag{.sequence = 0xdeadbeef, .departure_ns = 0x12'3456'789a, .worker = 3, .run = 99, .stream = 2}
        .Store(frame.data() + frame.size() - kTagBytes);
  }
  return frame;
}

std::shared_ptr<const FrameSet> Build(const StreamSpec& spec) {
  std::string error;
  auto frames = BuildFrames(spec, &error);
  EXPECT_NE(frames, nullptr) << error;
  return frames;
}

/// Returns whether the checksums of IPv4 and of TCP, UDP or ICMP are correct by the definition in
/// RFC 1071.
bool ChecksumsHold(const std::vector<uint8_t>& frame, uint32_t l3) {
  const uint8_t* const ip = frame.data() + l3;
  const bool v6 = ip[0] >> 4 == 6;
  if (!v6 && !packet::ChecksumHolds(packet::SumBytes(ip, 20))) return false;
  const uint32_t l4 = l3 + (v6 ? 40 : 20);
  const auto bytes = static_cast<uint32_t>(frame.size() - l4);
  const uint8_t protocol = v6 ? ip[6] : ip[9];
  uint64_t pseudo = v6 ? packet::PseudoHeaderSumIpv6(ip, protocol, bytes)
                       : packet::PseudoHeaderSumIpv4(ip, protocol, static_cast<uint16_t>(bytes));
  if (protocol == 1) pseudo = 0;
  return packet::ChecksumHolds(packet::SumBytes(frame.data() + l4, bytes, pseudo));
}

TEST(PktgenFrames, OfAllKindsParseAndTheirChecksumsHold) {
  for (const uint8_t version : {uint8_t{4}, uint8_t{6}}) {
    for (const uint8_t protocol : {uint8_t{17}, uint8_t{6}, uint8_t{1}}) {
      for (const uint32_t tags : {0u, 1u, 2u}) {
        StreamSpec spec;
        spec.headers.ip_version = version;
        spec.headers.protocol = protocol;
        for (uint32_t i = 0; i < tags; ++i)
          spec.headers.tags.push_back({.id = 100 + i, .priority = 3});
        spec.sizes = Field::List({spec.least_size(), 777, 1518});
        const auto frames = Build(spec);
        ASSERT_EQ(frames->size(), 3u);
        for (size_t i = 0; i < 3; ++i) {
          const std::vector<uint8_t> frame = Bytes(*frames, i, true);
          EXPECT_EQ(frame.size() + 4, static_cast<uint64_t>(spec.sizes.At(i)));
          const packet::Headers headers =
              packet::Parse(frame.data(), static_cast<uint32_t>(frame.size()));
          EXPECT_EQ(headers.error, packet::ParseError::kNone);
          EXPECT_EQ(headers.vlan_tags, tags);
          EXPECT_EQ(headers.protocol, protocol == 1 && version == 6 ? 58 : protocol);
          EXPECT_EQ(headers.payload, spec.header_bytes());
          EXPECT_EQ(headers.end, frame.size());
          EXPECT_TRUE(ChecksumsHold(frame, headers.l3));
          EXPECT_EQ(headers.vlan_tci[0], tags > 0 ? 3 << 13 | 100 : 0);
        }
      }
    }
  }
}

TEST(PktgenFrames, HaveTheValuesOfTheirFields) {
  StreamSpec spec;
  spec.headers.destination_mac = Field::Value{0x0a0b'0c0d'0e0f};
  spec.headers.source = Field::Range(0x0a00'0001, 0x0a00'0009, 4);
  spec.headers.destination_port = Field::List({53, 443});
  spec.headers.service = 0xb8;
  spec.headers.hops = 7;
  const auto frames = Build(spec);
  ASSERT_EQ(frames->size(), 6u);  // Three sources times two ports.
  for (size_t i = 0; i < 6; ++i) {
    const std::vector<uint8_t> frame = Bytes(*frames, i);
    EXPECT_EQ(LoadBe32(&frame[0]), 0x0a0b'0c0du);
    EXPECT_EQ(LoadBe16(&frame[4]), 0x0e0fu);
    EXPECT_EQ(frame[15], 0xb8);
    EXPECT_EQ(frame[22], 7);
    EXPECT_EQ(LoadBe32(&frame[26]), 0x0a00'0001u + 4 * (i % 3));
    EXPECT_EQ(LoadBe16(&frame[36]), i % 2 == 0 ? 53 : 443);
    EXPECT_EQ(frames->entry(i).flow, i);
  }
}

// RFC 7348, section 5: UDP to 4789, flags 0x08, a 24-bit VNI, then the inner Ethernet frame.
TEST(PktgenFrames, VxlanIsAFrameInADatagram) {
  StreamSpec spec;
  spec.vxlan.emplace();
  spec.vxlan->outer.destination_port = VxlanSpec::kPort;
  spec.vxlan->outer.source = Field::Value{0xac10'0001};
  spec.vxlan->network = 0xabcdef;
  spec.headers.ip_version = 6;
  spec.sizes = 300;
  const std::vector<uint8_t> frame = Bytes(*Build(spec), 0, true);
  ASSERT_EQ(frame.size(), 296u);
  const packet::Headers outer = packet::Parse(frame.data(), 296);
  EXPECT_EQ(outer.error, packet::ParseError::kNone);
  EXPECT_EQ(outer.payload, 42u);
  EXPECT_EQ(LoadBe16(&frame[36]), 4789);
  EXPECT_EQ(LoadBe16(&frame[40]), 0);  // No checksum.
  EXPECT_EQ(LoadBe32(&frame[42]), 0x0800'0000u);
  EXPECT_EQ(LoadBe32(&frame[46]), 0xabcdef00u);
  const std::vector<uint8_t> inner(frame.begin() + 50, frame.end());
  const packet::Headers headers = packet::Parse(inner.data(), static_cast<uint32_t>(inner.size()));
  EXPECT_EQ(headers.error, packet::ParseError::kNone);
  EXPECT_TRUE(headers.IsIpv6());
  EXPECT_TRUE(ChecksumsHold(inner, headers.l3));
}

TEST(PktgenFrames, RandomFieldsAreTheSameForTheSameSeed) {
  const auto sources = [](uint64_t seed) {
    StreamSpec spec;
    spec.headers.source = Field::Random(0x0a00'0000, 0x0a00'ffff, seed);
    const auto frames = Build(spec);
    std::vector<uint32_t> all;
    for (size_t i = 0; i < frames->size(); ++i) all.push_back(LoadBe32(&Bytes(*frames, i)[26]));
    return all;
  };
  const std::vector<uint32_t> first = sources(1);
  EXPECT_EQ(first, sources(1));
  EXPECT_NE(first, sources(2));
  EXPECT_GE(first.size(), 4096u);
  // 4096 values are drawn from 65536. The expected number of different values is 3970, with a
  // standard deviation below 11.
  EXPECT_NEAR(static_cast<double>(std::set(first.begin(), first.end()).size()), 3970, 70);
  for (const uint32_t source : first) EXPECT_EQ(source >> 16, 0x0a00u);
}

TEST(PktgenFrames, RandomFieldsOfAnyWidthAreWithinTheirRange) {
  constexpr Field::Value kOne = 1;
  const Field::Value widths[] = {
      0,          1,           (kOne << 63) - 1,  kOne << 63,    (kOne << 64) - 1,
      kOne << 64, kOne << 100, (kOne << 127) - 1, ~(kOne << 64), ~kOne};
  for (const Field::Value width : widths) {
    const Field field = Field::Random(1, width + 1, 5);
    EXPECT_TRUE(field.most() == width + 1);
    Field::Value least = ~Field::Value{0}, most = 0;
    for (uint64_t n = 0; n < 1000; ++n) {
      least = std::min(least, field.At(n));
      most = std::max(most, field.At(n));
    }
    // The largest and the smallest of 1000 draws are within a tenth of the ends with a probability
    // of 1 - 2 * 0.9^1000.
    EXPECT_TRUE(least >= 1 && least <= 1 + width / 10);
    EXPECT_TRUE(most <= width + 1 && most >= 1 + width - width / 10);
  }
  EXPECT_TRUE(Field::Range(0, 10, 3).most() == Field::Value{9});
}

TEST(PktgenFrames, RefuseWhatCannotBe) {
  const auto refused = [](const StreamSpec& spec) {
    std::string error;
    EXPECT_EQ(BuildFrames(spec, &error), nullptr);
    return error;
  };
  StreamSpec spec;
  spec.sizes = 63;
  EXPECT_NE(refused(spec), "");
  spec.sizes = 1519;
  EXPECT_NE(refused(spec), "");
  spec.sizes = 64;
  spec.headers.ip_version = 6;  // 14 + 40 + 8 + 1 + 16 + 4 = 83.
  EXPECT_NE(refused(spec).find("83"), std::string::npos);
  spec.headers.ip_version = 4;
  spec.headers.source = Field::Range(0, 8190, 1);  // The counts have no common divisor.
  spec.headers.destination = Field::Range(0, 8191, 1);
  EXPECT_NE(refused(spec), "");
}

TEST(PktgenFrames, WorkersGetWholeFlows) {
  StreamSpec spec;
  spec.headers.source = Field::Range(1, 10, 1);
  spec.headers.destination_port = Field::List({1, 2, 3});
  const auto frames = Build(spec);
  std::map<uint32_t, uint32_t> owner;
  size_t sum = 0;
  for (uint32_t worker = 0; worker < 4; ++worker) {
    std::vector<size_t> indices;
    const FrameSet part = PartOf(*frames, worker, 4, &indices);
    ASSERT_EQ(part.size(), indices.size());
    sum += part.size();
    for (size_t i = 0; i < part.size(); ++i) {
      EXPECT_EQ(Bytes(part, i), Bytes(*frames, indices[i]));
      EXPECT_EQ(owner.try_emplace(part.entry(i).flow, worker).first->second, worker);
    }
  }
  EXPECT_EQ(sum, frames->size());
}

}  // namespace
}  // namespace sluice::engine::pktgen
