// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <rte_thash.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "emulator/frame_ring.h"
#include "emulator/gen.h"
#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/parse.h"
#include "rig.h"

namespace sluice::emulator {
namespace {

using packet::LoadBe16;
using packet::LoadBe32;
using Sizes = GeneratorOptions::Sizes;

std::unique_ptr<FrameRing> Build(const GeneratorOptions& options) {
  std::string error;
  auto ring = FrameRing::Build(options, &error);
  EXPECT_EQ(error, "");
  return ring;
}

std::unique_ptr<GeneratorWire> Generator(const GeneratorOptions& options,
                                         VerifyMode verify = VerifyMode::kFull) {
  std::string error;
  return GeneratorWire::Create(options, verify, &error);
}

void ExpectValid(const device::WireFrame& frame, uint8_t protocol) {
  const packet::Headers headers = packet::Parse(frame.data, frame.length);
  ASSERT_EQ(headers.error, packet::ParseError::kNone);
  ASSERT_EQ(headers.protocol, protocol);
  ASSERT_EQ(headers.end, frame.length);
  const uint8_t* ip = frame.data + 14;
  ASSERT_TRUE(packet::ChecksumHolds(packet::SumBytes(ip, 20)));
  const uint16_t l4_bytes = static_cast<uint16_t>(frame.length - 34);
  ASSERT_TRUE(packet::ChecksumHolds(
      packet::SumBytes(ip + 20, l4_bytes, packet::PseudoHeaderSumIpv4(ip, protocol, l4_bytes))));
}

TEST(Generator, FramesAreValidInEveryLapForEverySizeAndProtocol) {
  for (const bool tcp : {false, true}) {
    GeneratorOptions options;
    options.sizes = Sizes::kRandom;
    options.tcp = tcp;
    options.flows = 300;
    const auto ring = Build(options);
    const uint32_t entries = static_cast<uint32_t>(ring->frames().size());
    for (int lap = 0; lap < 3; ++lap) {
      ring->Stamp(0, entries);
      for (const device::WireFrame& frame : ring->frames()) ExpectValid(frame, tcp ? 6 : 17);
    }
  }
}

TEST(Generator, SizesCountTheFcs) {
  for (const uint32_t size : {64u, 65u, 1518u, 9018u}) {
    GeneratorOptions options;
    options.list = {size};
    const auto ring = Build(options);
    for (const auto& frame : ring->frames()) ASSERT_EQ(frame.length, size - 4);
  }
}

TEST(Generator, AListOfSizesIsUsedInTurn) {
  GeneratorOptions options;
  options.list = {64, 128, 1518};
  const auto ring = Build(options);
  for (uint32_t i = 0; i < 9; ++i) {
    EXPECT_EQ(ring->frames()[i].length, options.list[i % 3] - 4);
  }
}

TEST(Generator, ImixIsSevenSmallFourMediumOneLarge) {
  GeneratorOptions options;
  options.sizes = Sizes::kImix;
  options.flows = 4800;  // A multiple of 12, so that the ratio is exact.
  options.random_order = true;
  std::map<uint32_t, uint32_t> sizes;
  const auto ring = Build(options);
  for (const auto& frame : ring->frames()) ++sizes[frame.length + 4];
  const uint32_t twelfth = static_cast<uint32_t>(ring->frames().size()) / 12;
  EXPECT_EQ(sizes,
            (std::map<uint32_t, uint32_t>{{64, 7 * twelfth}, {594, 4 * twelfth}, {1518, twelfth}}));
}

TEST(Generator, RandomOrderDependsOnTheSeedAlone) {
  GeneratorOptions options;
  options.sizes = Sizes::kRandom;
  options.random_order = true;
  const auto lengths = [&](uint64_t seed) {
    options.seed = seed;
    const auto ring = Build(options);
    std::vector<uint32_t> all;
    for (const auto& frame : ring->frames()) all.push_back(frame.length);
    return all;
  };
  EXPECT_EQ(lengths(1), lengths(1));
  EXPECT_NE(lengths(1), lengths(2));
}

TEST(Generator, FlowsAreDistinctAndEachOccursEquallyOften) {
  GeneratorOptions options;
  options.flows = 1000;
  const auto ring = Build(options);
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> flows;
  for (const auto& frame : ring->frames()) {
    ++flows[{LoadBe32(frame.data + 26), LoadBe32(frame.data + 30), LoadBe32(frame.data + 34)}];
  }
  EXPECT_EQ(flows.size(), 1000u);
  for (const auto& [flow, count] : flows) EXPECT_EQ(count, ring->per_lap());
}

TEST(Generator, FramesGoToTheNicFromALocallyAdministeredUnicastSource) {
  GeneratorOptions options;
  options.destination = {2, 4, 6, 8, 10, 12};
  const auto ring = Build(options);
  const uint8_t* frame = ring->frames()[0].data;
  EXPECT_TRUE(std::equal(options.destination.begin(), options.destination.end(), frame));
  EXPECT_EQ(frame[6] & 3, 2);
}

/// Jenkins' lookup3 final mix over (dst ip low | dst port, dst ip high, 0), each plus 0xdeadbefb.
/// This is the Ensō fallback hash of a UDP frame, which ignores the source.
uint32_t EnsoUdpHash(uint32_t dst_ip, uint16_t dst_port) {
  uint32_t a = 0xdeadbefb + ((dst_ip & 0xffff) << 16 | dst_port);
  uint32_t b = 0xdeadbefb + (dst_ip >> 16);
  uint32_t c = 0xdeadbefb;
  const auto rot = [](uint32_t x, int k) { return x << k | x >> (32 - k); };
  c ^= b;
  c -= rot(b, 14);
  a ^= c;
  a -= rot(c, 11);
  b ^= a;
  b -= rot(a, 25);
  c ^= b;
  c -= rot(b, 16);
  a ^= c;
  a -= rot(c, 4);
  b ^= a;
  b -= rot(a, 14);
  c ^= b;
  c -= rot(b, 24);
  return c;
}

TEST(Generator, FlowsSpreadOverQueuesByTheirDestinationAloneAndByRss) {
  // A vector from docs/enso-hardware.md, "Vectors": UDP to 192.168.0.0:80.
  ASSERT_EQ(EnsoUdpHash(0xc0a80000, 80), 0x1f302f21u);
  std::array<uint8_t, 40> key;
  key.fill(0x6d);
  key[1] = 0x5a;
  GeneratorOptions options;
  const auto ring = Build(options);
  std::array<uint32_t, 4> enso{}, rss{};
  for (const auto& frame : ring->frames()) {
    const uint32_t dst_ip = LoadBe32(frame.data + 30);
    ++enso[EnsoUdpHash(dst_ip, LoadBe16(frame.data + 36)) & 3];
    uint32_t tuple[3] = {LoadBe32(frame.data + 26), dst_ip, LoadBe32(frame.data + 34)};
    ++rss[rte_softrss(tuple, 3, key.data()) & 3];
  }
  const uint32_t fair = static_cast<uint32_t>(ring->frames().size()) / 4;
  for (uint32_t queue = 0; queue < 4; ++queue) {
    EXPECT_NEAR(enso[queue], fair, fair / 4.0);
    EXPECT_NEAR(rss[queue], fair, fair / 4.0);
  }
}

TEST(Generator, RefusesARingThatDoesNotFitInMemory) {
  GeneratorOptions options;
  options.flows = 1u << 20;
  options.list = {9018};
  std::string error;
  EXPECT_EQ(FrameRing::Build(options, &error), nullptr);
  EXPECT_NE(error.find("flows=1048576"), std::string::npos) << error;
}

TEST(Generator, EverySequenceNumberOfAFlowIsSentOnceHoweverFewFramesAreTaken) {
  GeneratorOptions options;
  options.flows = 3;
  const auto wire = Generator(options);
  wire->Start(0);
  std::map<uint32_t, uint32_t> next;  // Next number expected from each source address.
  uint32_t take = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto frames = wire->Pull(0, 256);
    const uint32_t taken = std::min<uint32_t>(++take % 7, static_cast<uint32_t>(frames.size()));
    for (uint32_t f = 0; f < taken; ++f) {
      const Tag tag = Tag::Load(frames[f].data + frames[f].length - kTagBytes);
      ASSERT_EQ(tag.Damage(Tag::Nonce(options.run)), 0u);
      ASSERT_EQ(tag.sequence, next[LoadBe32(frames[f].data + 26)]++);
    }
    wire->Consumed(taken);
  }
}

TEST(Generator, KeepsItsRateAndItsCount) {
  GeneratorOptions options;
  options.rate_pps = 1e6;
  options.count = 5000;
  Rig rig(Generator(options), /*pause=*/false);
  rig.Start();
  rig.Run(1000, 1000);  // 1 ms in steps of 1 µs.
  EXPECT_EQ(rig["wire_offered"], 1000u);
  rig.Run(10'000, 1000);
  EXPECT_EQ(rig["wire_offered"], 5000u);
  EXPECT_EQ(rig["wire_source_late"], 0u);
}

TEST(Generator, CountsTheFramesThatItWasTooLateToSend) {
  GeneratorOptions options;
  options.rate_pps = 1e6;
  Rig rig(Generator(options), /*pause=*/false);
  rig.Start();
  rig.Run(1, 100'000'000);  // Without a step for 100 ms, 100,000 frames are due.
  rig.Run(1000, 1);
  EXPECT_EQ(rig["wire_source_late"] + rig["wire_offered"], 100'001u);
  EXPECT_EQ(rig["wire_source_late"], 90'000u);
}

}  // namespace
}  // namespace sluice::emulator
