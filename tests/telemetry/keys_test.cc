// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the keys of frames, and which setups are valid.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "engine/telemetry/five_tuple.h"
#include "engine/telemetry/setup.h"
#include "engine/workload/random.h"
#include "packet/parse.h"
#include "traffic.h"

namespace sluice::engine::telemetry {
namespace {

using test::FrameOf;
using test::KeyOf;

TEST(FiveTuple, IsThatOfTheGeneralParserForAnyFrame) {
  engine::workload::Random random(11);
  int known = 0;
  for (int i = 0; i < 300'000; ++i) {
    auto frame = FrameOf(static_cast<uint32_t>(i));
    if (i % 2 == 1) {  // Makes the frame TCP without options.
      frame[23] = 6;
      frame[46] = 0x50;
    }
    // Changes a few bytes of the headers, and truncates the frame.
    for (uint64_t n = random.Below(4); n > 0; --n) {
      frame[12 + random.Below(36)] = static_cast<uint8_t>(random.Next());
    }
    const auto length =
        static_cast<uint32_t>(random.Below(4) == 0 ? random.Below(frame.size() + 1) : frame.size());
    // A copy of the exact size, so that a sanitizer detects reads beyond its end.
    const std::vector<uint8_t> bytes(frame.begin(), frame.begin() + length);
    const auto expected = packet::FlowKey::Of(bytes.data(), packet::Parse(bytes.data(), length));
    ASSERT_EQ(FiveTupleOf(bytes.data(), length), expected) << i;
    known += expected.has_value();
  }
  EXPECT_GT(known, 50'000);
}

TEST(FiveTuple, OfEveryFragmentHasNoPorts) {
  auto first = FrameOf(7), later = FrameOf(7);
  first[20] = 0x20;  // The more-fragments flag.
  later[21] = 3;     // Offset of 24 bytes.
  const auto key = FiveTupleOf(first.data(), first.size());
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->source_port, 0);
  EXPECT_EQ(key->destination_port, 0);
  EXPECT_EQ(key->source, KeyOf(7).source);
  EXPECT_EQ(FiveTupleOf(later.data(), later.size()), key);
}

TEST(FiveTuple, LooksThroughVlanTags) {
  const auto plain = FrameOf(7);
  std::vector<uint8_t> tagged(plain.begin(), plain.end());
  const uint8_t tag[] = {0x81, 0x00, 0x00, 0x2a};
  tagged.insert(tagged.begin() + 12, tag, tag + 4);
  EXPECT_EQ(FiveTupleOf(tagged.data(), static_cast<uint32_t>(tagged.size())), KeyOf(7));
}

TEST(KeySpec, KeepsWhatItTellsApartAndNothingElse) {
  packet::FlowKey key = KeyOf(0x123456);
  const packet::FlowKey source = KeySpec{KeyKind::kSource}.Of(key);
  EXPECT_EQ(source.source, key.source);
  EXPECT_EQ(source.destination, packet::Ipv6Address{});
  EXPECT_EQ(source.source_port, 0);
  EXPECT_EQ(source.protocol, 0);
  EXPECT_EQ(source.ip_version, 4);
  EXPECT_EQ(KeySpec{}.Of(key), key);

  const packet::FlowKey twenty = KeySpec{KeyKind::kSource, 20, 64}.Of(key);
  EXPECT_EQ(twenty.source, (packet::Ipv6Address{10, 0x12, 0x30}));
  EXPECT_EQ((KeySpec{KeyKind::kDestination, 0, 0}.Of(key).destination), packet::Ipv6Address{});

  key.ip_version = 6;
  key.destination.fill(0xff);
  packet::Ipv6Address prefix{};
  std::fill_n(prefix.begin(), 8, 0xff);
  prefix[8] = 0x80;
  EXPECT_EQ((KeySpec{KeyKind::kDestination, 24, 65}.Of(key).destination), prefix);
}

TEST(KeySpec, SaysItsName) {
  EXPECT_EQ(KeySpec{}.Name(), "5-tuple");
  EXPECT_EQ(KeySpec{KeyKind::kDestination}.Name(), "destination");
  EXPECT_EQ((KeySpec{KeyKind::kSource, 24, 64}.Name()), "source/24,64");
}

using Choice = Setup;  // Setup is a method of gtest fixtures.

TEST(Setup, NamesTheMemberThatIsWrong) {
  EXPECT_EQ(Choice{}.Error(), "");
  const auto error = [](auto change) {
    Choice setup;
    change(setup);
    return setup.Error().substr(0, setup.Error().find(':'));
  };
  EXPECT_EQ(error([](Choice& s) { s.keys.clear(); }), "keys");
  EXPECT_EQ(error([](Choice& s) { s.keys.push_back(s.keys[0]); }), "keys");
  EXPECT_EQ(error([](Choice& s) { s.keys[0].ipv4_bits = 33; }), "keys");
  EXPECT_EQ(error([](Choice& s) { s.keys[0].ipv6_bits = 129; }), "keys");
  EXPECT_EQ(error([](Choice& s) { s.rows = 2; }), "rows");
  EXPECT_EQ(error([](Choice& s) { s.rows = Choice::kMaxRows + 1; }), "rows");
  EXPECT_EQ(error([](Choice& s) { s.columns = 1000; }), "columns");
  EXPECT_EQ(error([](Choice& s) { s.columns = 0; }), "columns");
  EXPECT_EQ(error([](Choice& s) { s.top_k = 0; }), "top_k");
  EXPECT_EQ(error([](Choice& s) { s.levels = 0; }), "levels");
  EXPECT_EQ(error([](Choice& s) { s.probability = 0; }), "probability");
  EXPECT_EQ(error([](Choice& s) { s.probability = 1.01; }), "probability");
  EXPECT_EQ(error([](Choice& s) { s.probability = std::numeric_limits<double>::quiet_NaN(); }),
            "probability");
  EXPECT_EQ(error([](Choice& s) { s.epoch_ns = 0; }), "epoch_ns");
  EXPECT_EQ(error([](Choice& s) { s.confidence = 1; }), "confidence");
  EXPECT_EQ(error([](Choice& s) { s.oracle_flows = 0; }), "oracle_flows");
}

}  // namespace
}  // namespace sluice::engine::telemetry
