// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the meter as a burst engine. It must read only sampled frames, and its counts must follow
// NitroSketch (SIGCOMM'19, section 4) for any division into bursts.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bursts.h"
#include "engine/telemetry/meter.h"
#include "engine/telemetry/row_sampler.h"

namespace sluice::engine::telemetry {
namespace {

using Choice = Setup;  // Setup is a method of gtest fixtures.

constexpr uint64_t kClockHz = 1'000'000'000;

Choice Fixed(double p) {
  Choice setup;
  setup.columns = 1 << 8;
  setup.pace = Pace::kFixed;
  setup.probability = p;
  setup.top_k = 20;
  return setup;
}

std::string TextOf(const packet::FlowKey& key) {
  return {reinterpret_cast<const char*>(&key), sizeof(key)};
}

/// Returns a level's known flows by key.
auto KnownOf(const Level& level) {
  std::map<std::string, std::vector<int64_t>> known;
  for (const KnownFlows::Flow& flow : level.known.flows()) {
    known[TextOf(flow.key)] = {flow.count, flow.bytes, flow.samples, flow.whole};
  }
  return known;
}

void ExpectEqual(const Epoch& a, const Epoch& b) {
  EXPECT_EQ(a.total, b.total);
  EXPECT_EQ(a.exact_pkts, b.exact_pkts);
  EXPECT_EQ(a.other, b.other);
  EXPECT_EQ(a.longest_bytes, b.longest_bytes);
  for (size_t key = 0; key < a.counters.size(); ++key) {
    EXPECT_EQ(a.counters[key].oracle().counts(), b.counters[key].oracle().counts());
    for (size_t level = 0; level < a.counters[key].levels().size(); ++level) {
      const Level& x = a.counters[key].levels()[level];
      const Level& y = b.counters[key].levels()[level];
      for (size_t i = 0; i < x.sketch.shape().cells(); ++i) {
        ASSERT_EQ(x.sketch.Row(0)[i].packets, y.sketch.Row(0)[i].packets);
        ASSERT_EQ(x.sketch.Row(0)[i].bytes, y.sketch.Row(0)[i].bytes);
      }
      EXPECT_EQ(KnownOf(x), KnownOf(y));
      EXPECT_EQ(x.known.complete(), y.known.complete());
    }
  }
}

TEST(MeterBursts, CountTheSameHoweverFramesAreDivided) {
  const test::MixedFrames traffic(20'000, 400, 3);
  std::vector<Choice> setups = {Fixed(1), Fixed(0.3), Fixed(0.01), Fixed(0.001)};
  for (const size_t i : {1u, 2u}) {
    Choice keys = setups[i], oracle = setups[i], levels = setups[i];
    keys.keys = {{}, {KeyKind::kSource}, {KeyKind::kSource, 24, 64}, {KeyKind::kDestination}};
    oracle.oracle_one_in = 4;
    levels.levels = 5;
    levels.level_columns = 64;
    levels.level_top_k = 16;
    setups.insert(setups.end(), {keys, oracle, levels});
  }
  for (const Choice& setup : setups) {
    Meter one_by_one(setup, 0, kClockHz, 0);
    for (packet::Frame frame : traffic.frames()) {
      EXPECT_EQ(packet::ProcessFrame(one_by_one, frame, 0), packet::kForward);
    }
    ASSERT_TRUE(one_by_one.Finish(1));
    for (const uint64_t most : {3u, 64u, 1000u}) {
      Meter meter(setup, 0, kClockHz, 0);
      test::InBursts(meter, traffic.frames(), most, most);
      ASSERT_TRUE(meter.Finish(1));
      ExpectEqual(*meter.Closed(), *one_by_one.Closed());
    }
  }
}

// All rows of all frames form one sequence. Gaps in this sequence determine the sampled rows. A
// sampled row is incremented by 1/p packets.
TEST(MeterBursts, CountTheSampledRowsAndLookAtNoOtherFrame) {
  const test::MixedFrames traffic(50'000, 400, 5);
  const Choice setup = Fixed(0.01);
  Meter meter(setup, 3, kClockHz, 0);
  const std::vector<const uint8_t*> read_frames = test::InBursts(meter, traffic.frames(), 200, 1);
  ASSERT_TRUE(meter.Finish(1));
  const FlowCounter& counter = meter.Closed()->counters[0];
  const Sketch& sketch = counter.levels()[0].sketch;

  // Computes the same samples row by row.
  GapSampler gaps(engine::workload::Mix(engine::workload::Mix(setup.seed) + 3));
  gaps.SetProbability(setup.probability);
  std::vector<Cell> expected(sketch.shape().cells());
  std::set<const uint8_t*> sampled_frames;
  int64_t other = 0;
  uint32_t until = gaps.Next();
  for (size_t i = 0; i < traffic.frames().size(); ++i) {
    const packet::Frame& frame = traffic.frames()[i];
    for (uint32_t row = 0; row < setup.rows; ++row) {
      if (--until != 0) continue;
      until = gaps.Next();
      sampled_frames.insert(frame.data);
      if (traffic.flows()[i] == test::MixedFrames::kNoFlow) {
        other += gaps.weight();
        continue;
      }
      const uint64_t hash = counter.HashOf(test::KeyOf(traffic.flows()[i]));
      const Sketch::Place place = sketch.PlaceOf(row, hash);
      Cell& cell = expected[static_cast<size_t>(place.cell - sketch.Row(0))];
      cell.packets += place.Flipped(gaps.weight());
      cell.bytes += place.Flipped(gaps.weight() * frame.length);
    }
  }
  EXPECT_NEAR(static_cast<double>(sampled_frames.size()), 50'000 * 0.08, 400);
  EXPECT_EQ(std::set(read_frames.begin(), read_frames.end()), sampled_frames);
  EXPECT_EQ(meter.Closed()->other, other);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(sketch.Row(0)[i].packets, expected[i].packets);
    ASSERT_EQ(sketch.Row(0)[i].bytes, expected[i].bytes);
  }
  uint64_t bytes = 0;
  for (const packet::Frame& frame : traffic.frames()) bytes += frame.length;
  EXPECT_EQ(meter.Closed()->total, (engine::telemetry::Traffic{50'000, bytes}));
  EXPECT_EQ(meter.Closed()->longest_bytes, 200u);
}

}  // namespace
}  // namespace sluice::engine::telemetry
