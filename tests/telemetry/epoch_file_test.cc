// SPDX-License-Identifier: BSD-3-Clause
//
// Tests epochs in files. Merging two halves must yield exactly the counts of all frames, bit for
// bit, and arbitrary files must be handled.
#include "engine/telemetry/export/epoch_file.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "bursts.h"
#include "engine/telemetry/meter.h"

namespace sluice::engine::telemetry {
namespace {

constexpr size_t kHeaderBytes = 32;

using Chosen = telemetry::Setup;  // Setup is a method of testing::Test.

/// Returns a setup that counts every packet.
Chosen SmallSetup() {
  Chosen setup;
  setup.keys = {KeySpec{}, KeySpec{KeyKind::kSource, 24, 64}};
  setup.rows = 3;
  setup.columns = 32;
  setup.top_k = 8;
  setup.levels = 3;
  setup.level_columns = 16;
  setup.level_top_k = 16;
  setup.pace = Pace::kFixed;
  setup.probability = 1;
  setup.epoch_ns = 1'000'000'000;
  setup.oracle_one_in = 2;
  setup.oracle_flows = 100;
  setup.seed = 77;
  return setup;
}

/// Returns the file for these frames, as counted by a new meter.
std::string FileOf(const Chosen& setup, std::span<const packet::Frame> frames) {
  Meter meter(setup, 0, 1'000'000'000, 0);
  test::InBursts(meter, frames, 64, 1);
  meter.Finish(500);
  return EncodeEpoch(*meter.Closed(), {1'000, 2'000});
}

std::unique_ptr<Epoch> Decode(std::string_view file) {
  std::string error;
  auto epoch = DecodeEpoch(file, &error);
  EXPECT_NE(epoch, nullptr) << error;
  return epoch;
}

std::string Refused(std::string_view file) {
  std::string error;
  EXPECT_EQ(DecodeEpoch(file, &error), nullptr);
  EXPECT_NE(error, "");
  EXPECT_EQ(error.find('\n'), std::string::npos);
  return error;
}

/// Returns the file with its header (length, checksum) recomputed for its body.
std::string Sealed(std::string file) {
  const uint64_t bytes = file.size() - kHeaderBytes;
  const uint64_t checksum = XXH3_64bits(file.data() + kHeaderBytes, bytes);
  std::memcpy(file.data() + 16, &bytes, sizeof bytes);
  std::memcpy(file.data() + 24, &checksum, sizeof checksum);
  return file;
}

struct Case {
  const char* name;
  uint32_t flows;
  std::function<void(Chosen&)> change;
};

TEST(EpochFile, HalvesMergeToTheWhole) {
  const Case kCases[] = {
      {"as it is", 10, [](Chosen&) {}},
      {"count-min", 10, [](Chosen& setup) { setup.sketch = SketchKind::kCountMin; }},
      {"one level, no oracle", 10,
       [](Chosen& setup) {
         setup.levels = 1;
         setup.oracle_one_in = 0;
       }},
      {"tables with room", 10,
       [](Chosen& setup) {
         setup.pace = Pace::kAlwaysCorrect;
         setup.exact_flows = 10;
       }},
      {"more columns", 100,
       [](Chosen& setup) {
         setup.columns = 1024;
         setup.top_k = 100;
         setup.level_top_k = 200;
       }},
  };
  for (const Case& one : kCases) {
    Chosen setup = SmallSetup();
    one.change(setup);
    const test::MixedFrames frames(5000, one.flows, 3);
    for (const size_t part : {0, 1, 2500, 5000}) {
      const auto merged = Decode(FileOf(setup, frames.frames().first(part)));
      ASSERT_TRUE(merged->Merge(*Decode(FileOf(setup, frames.frames().subspan(part)))));
      EXPECT_EQ(merged->workers, 2u);
      merged->workers = 1;
      EXPECT_EQ(EncodeEpoch(*merged, {1'000, 2'000}), FileOf(setup, frames.frames()))
          << one.name << ", " << part;
    }
  }
}

// The lists of known flows are full, so their contents may depend on the order of the frames.
// Sketches are sums, so their contents do not depend on the order.
TEST(EpochFile, SketchesOfHalvesAreSumsEvenWhereFlowsAreForgotten) {
  const Chosen setup = SmallSetup();
  const test::MixedFrames frames(20'000, 3000, 4);
  const auto whole = Decode(FileOf(setup, frames.frames()));
  const auto merged = Decode(FileOf(setup, frames.frames().first(9000)));
  ASSERT_TRUE(merged->Merge(*Decode(FileOf(setup, frames.frames().subspan(9000)))));
  EXPECT_EQ(merged->total, whole->total);
  EXPECT_EQ(merged->other, whole->other);
  for (size_t key = 0; key < setup.keys.size(); ++key) {
    for (size_t level = 0; level < setup.levels; ++level) {
      const Sketch& a = merged->counters[key].levels()[level].sketch;
      const Sketch& b = whole->counters[key].levels()[level].sketch;
      EXPECT_EQ(std::memcmp(a.Row(0), b.Row(0), a.shape().cells() * sizeof(Cell)), 0);
      for (uint32_t row = 0; row < setup.rows; ++row) EXPECT_EQ(a.Squares(row), b.Squares(row));
    }
  }
  EXPECT_FALSE(whole->counters[0].levels()[0].known.complete());
}

TEST(EpochFile, IsWhatItWasWrittenFrom) {
  const test::MixedFrames frames(3000, 40, 5);
  const std::string file = FileOf(SmallSetup(), frames.frames());
  const auto epoch = Decode(file);
  EXPECT_EQ(epoch->setup, SmallSetup());
  EXPECT_EQ(epoch->start_cycles, 1'000u);
  EXPECT_EQ(epoch->end_cycles, 2'000u);
  EXPECT_EQ(EncodeEpoch(*epoch, {1'000, 2'000}), file);
}

// The second half's table knows flows that the first half's table does not know, and vice versa.
TEST(EpochFile, OfTablesThatWereClosedIsWhatItWasWrittenFrom) {
  Chosen setup = SmallSetup();
  setup.pace = Pace::kAlwaysCorrect;
  setup.exact_flows = 10;
  const test::MixedFrames frames(3000, 40, 5);
  const std::string first = FileOf(setup, frames.frames().first(12));
  const std::string second = FileOf(setup, frames.frames().subspan(12));
  const auto merged = Decode(first);
  EXPECT_EQ(EncodeEpoch(*merged, {1'000, 2'000}), first);
  EXPECT_EQ(EncodeEpoch(*Decode(second), {1'000, 2'000}), second);
  ASSERT_TRUE(merged->Merge(*Decode(second)));
  EXPECT_FALSE(merged->counters[0].exact().open());
  EXPECT_GT(merged->counters[0].exact().flows().size(), 10u);
  const std::string sum = EncodeEpoch(*merged, {1'000, 2'000});
  EXPECT_EQ(EncodeEpoch(*Decode(sum), {1'000, 2'000}), sum);
  ASSERT_TRUE(merged->Merge(*Decode(sum)));
}

TEST(EpochFile, EndsNowhereElse) {
  const test::MixedFrames frames(300, 10, 6);
  Chosen setup = SmallSetup();
  setup.pace = Pace::kAlwaysCorrect;
  setup.exact_flows = 4;
  const std::string file = FileOf(setup, frames.frames());
  for (size_t size = 0; size < file.size(); ++size) {
    Refused(std::string_view(file).substr(0, size));
    // The truncated file is rejected even if its header matches the truncated body.
    if (size >= kHeaderBytes) Refused(Sealed(file.substr(0, size)));
  }
  EXPECT_EQ(Refused(file + '\0'), "too long");
  EXPECT_EQ(Refused(Sealed(file + '\0')), "inconsistent counts");
}

TEST(EpochFile, NoByteCanBeAnother) {
  const test::MixedFrames frames(300, 10, 7);
  const std::string file = FileOf(SmallSetup(), frames.frames());
  for (size_t at = 0; at < file.size(); ++at) {
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    Refused(changed);
  }
}

// The contents are arbitrary, but the checksum is correct.
TEST(EpochFile, MayHaveAnyNumbers) {
  const test::MixedFrames frames(300, 10, 8);
  Chosen setup = SmallSetup();
  setup.pace = Pace::kAlwaysCorrect;
  setup.exact_flows = 4;
  const std::string file = FileOf(setup, frames.frames());
  std::mt19937_64 random(1);
  const uint64_t kValues[] = {
      0, 1, ~uint64_t{0}, uint64_t{1} << 63, uint64_t{1} << 32, 0x7ff0000000000001};
  size_t refused = 0;
  for (int round = 0; round < 4'000; ++round) {
    std::string changed = file;
    const size_t bytes = size_t{1} << random() % 4;
    const size_t front = round % 2 == 0 ? 250 : file.size();
    const size_t at = kHeaderBytes + random() % (front - kHeaderBytes - bytes);
    std::memcpy(changed.data() + at, &kValues[random() % std::size(kValues)], bytes);
    std::string error;
    const auto epoch = DecodeEpoch(Sealed(changed), &error);
    refused += epoch == nullptr;
    if (epoch == nullptr) continue;
    // An accepted file can be merged with itself up to the limit.
    const auto again = Decode(Sealed(changed));
    for (uint32_t i = 1; i < kMaxMergedEpochs; ++i) ASSERT_TRUE(epoch->Merge(*again));
  }
  EXPECT_GT(refused, 200u);
}

// Two keys that differ only in bytes that IPv4 does not use would count as one flow.
TEST(EpochFile, KeysOfIpv4AreZeroBehindTheAddress) {
  const test::MixedFrames frames(300, 10, 9);
  const std::string file = FileOf(SmallSetup(), frames.frames());
  const auto epoch = Decode(file);
  const auto flows = epoch->counters[0].levels()[0].known.flows();
  const auto last = std::ranges::max_element(flows, [](const auto& a, const auto& b) {
    return std::memcmp(&a.key, &b.key, sizeof a.key) < 0;
  });
  const std::string_view key(reinterpret_cast<const char*>(&last->key), sizeof last->key);
  ASSERT_EQ(last->key.ip_version, 4);
  for (const size_t unused : {4, 15, 20, 31, 38}) {
    std::string changed = file;
    for (size_t at = 0; (at = changed.find(key, at)) != std::string::npos; ++at) {
      changed[at + unused] = 1;
    }
    ASSERT_NE(changed, file);
    EXPECT_EQ(Refused(Sealed(changed)), "inconsistent counts") << unused;
  }
}

TEST(EpochFile, OfAnotherKindOrVersionIsRefused) {
  EXPECT_EQ(Refused(""), "the file is not an epoch of sluice-telemetry");
  EXPECT_EQ(Refused(std::string(1000, 'x')), "the file is not an epoch of sluice-telemetry");
  std::string file = FileOf(SmallSetup(), {});
  file[8] = 1;
  EXPECT_EQ(Refused(file), "the file has version 1, but this program reads version 3");
  file = FileOf(SmallSetup(), {});
  // The number of columns follows the header, two keys, the kind of sketch and the rows.
  const uint32_t columns = Chosen::kMaxColumns;
  std::memcpy(file.data() + kHeaderBytes + 4 + 2 * 4 + 4 + 4, &columns, sizeof columns);
  EXPECT_EQ(Refused(Sealed(file)), "incomplete sketches");
}

TEST(EpochFile, TheMemberInWhichSetupsDifferIsNamed) {
  const std::pair<const char*, std::function<void(Chosen&)>> kCases[] = {
      {"", [](Chosen&) {}},
      {"keys", [](Chosen& s) { s.keys.pop_back(); }},
      {"sketch", [](Chosen& s) { s.sketch = SketchKind::kCountMin; }},
      {"rows", [](Chosen& s) { s.rows = 4; }},
      {"columns", [](Chosen& s) { s.columns = 64; }},
      {"top_k", [](Chosen& s) { s.top_k = 9; }},
      {"exact_flows", [](Chosen& s) { s.exact_flows = 4; }},
      {"levels", [](Chosen& s) { s.levels = 4; }},
      {"level_columns", [](Chosen& s) { s.level_columns = 64; }},
      {"level_top_k", [](Chosen& s) { s.level_top_k = 17; }},
      {"pace", [](Chosen& s) { s.pace = Pace::kAlwaysCorrect; }},
      {"probability", [](Chosen& s) { s.probability = 0.5; }},
      {"full_rate_pps", [](Chosen& s) { s.full_rate_pps = 5; }},
      {"epoch_ns", [](Chosen& s) { s.epoch_ns = 2'000'000; }},
      {"heavy_hitter_share", [](Chosen& s) { s.heavy_hitter_share = 0.5; }},
      {"change_share", [](Chosen& s) { s.change_share = 0.5; }},
      {"confidence", [](Chosen& s) { s.confidence = 0.9; }},
      {"oracle_one_in", [](Chosen& s) { s.oracle_one_in = 3; }},
      {"oracle_flows", [](Chosen& s) { s.oracle_flows = 3; }},
      {"seed", [](Chosen& s) { s.seed = 78; }},
  };
  for (const auto& [member, change] : kCases) {
    Chosen other = SmallSetup();
    change(other);
    EXPECT_EQ(Difference(SmallSetup(), other), member);
    EXPECT_EQ(SmallSetup() == other, *member == '\0') << member;
  }
}

}  // namespace
}  // namespace sluice::engine::telemetry
