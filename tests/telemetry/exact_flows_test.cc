// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the table of exact counts, alone and in a meter. Until the table is full, all counts are
// exact. When it is full, the heavy flows stay exact, and the counts of the other flows become part
// of their estimates.
#include "engine/telemetry/exact_flows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "bursts.h"
#include "engine/telemetry/flow_estimator.h"
#include "lab.h"

namespace sluice::engine::telemetry {
namespace {

using test::kCyclesPerSecond;
using test::kEpoch;
using test::KeyOf;
using test::Lab;
using Choice = Setup;  // Setup is a method of gtest fixtures.

/// Returns a setup with a table of 100 flows before a small sketch.
Choice SmallTable() {
  Choice setup;
  setup.columns = 1 << 10;
  setup.exact_flows = 100;
  setup.heavy_hitter_share = 0;
  setup.change_share = 0;
  return setup;
}

uint64_t HashInTable(uint32_t flow) { return engine::workload::Mix(flow + 1); }

bool CountOne(ExactFlows& table, uint32_t flow) {
  return table.Count(KeyOf(flow), HashInTable(flow), 60);
}

TEST(ExactFlows, CountEveryPacketUntilAFlowHasNoRoomAndTheHeavyOnesAfterwards) {
  ExactFlows table(4, 2);
  EXPECT_TRUE(table.open());
  for (const uint32_t flow : {1, 2, 3, 3, 3, 4, 4, 4, 4}) EXPECT_TRUE(CountOne(table, flow));
  EXPECT_EQ(table.HeavySquares(), 9 + 16);
  EXPECT_TRUE(table.open());
  EXPECT_FALSE(CountOne(table, 5));
  EXPECT_FALSE(table.open());
  EXPECT_TRUE(table.watching());
  EXPECT_EQ(table.Find(HashInTable(5)), nullptr);
  for (const uint32_t flow : {1, 2, 5}) {
    EXPECT_FALSE(CountOne(table, flow));
    EXPECT_FALSE(table.Counts(HashInTable(flow)));
  }
  for (const uint32_t flow : {3, 4}) {
    EXPECT_TRUE(CountOne(table, flow));
    EXPECT_TRUE(table.Counts(HashInTable(flow)));
  }
  EXPECT_EQ(table.Find(HashInTable(1))->pkts, 1u);
  EXPECT_EQ(table.Find(HashInTable(3))->pkts, 4u);
  EXPECT_EQ(table.Find(HashInTable(4))->bytes, 5u * 60);
  table.Clear();
  EXPECT_TRUE(table.open());
  EXPECT_TRUE(table.flows().empty());
  EXPECT_TRUE(CountOne(table, 5));
  EXPECT_EQ(table.Find(HashInTable(5))->pkts, 1u);
}

TEST(ExactFlows, WithoutRoomCountNothing) {
  ExactFlows table(0, 512);
  EXPECT_FALSE(table.open());
  EXPECT_FALSE(table.watching());
  EXPECT_FALSE(CountOne(table, 1));
}

// Flows grow in random order. No removed flow may be as large as a remaining one, and at least a
// quarter of the maximum number of heavy flows must remain.
TEST(ExactFlows, ThatStayAreTheLargest) {
  constexpr uint32_t kFlows = 1000, kMostHeavy = 60;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    ExactFlows table(kFlows, kMostHeavy);
    std::map<uint32_t, uint64_t> exact;
    const engine::workload::Popularity popularity(kFlows, 1);
    engine::workload::Random random(seed);
    for (uint32_t flow = 0; flow < kFlows; ++flow) {
      EXPECT_TRUE(CountOne(table, flow));
      ++exact[flow];
    }
    for (int i = 0; i < 50'000; ++i) {
      const auto flow = static_cast<uint32_t>(popularity.Draw(random));
      EXPECT_TRUE(CountOne(table, flow));
      ++exact[flow];
    }
    EXPECT_FALSE(CountOne(table, kFlows));
    uint64_t least_staying = ~uint64_t{0}, most_leaving = 0, staying = 0;
    for (const auto& [flow, pkts] : exact) {
      EXPECT_EQ(table.Find(HashInTable(flow))->pkts, pkts);
      if (table.Counts(HashInTable(flow))) {
        least_staying = std::min(least_staying, pkts);
        ++staying;
      } else {
        most_leaving = std::max(most_leaving, pkts);
      }
    }
    EXPECT_GT(least_staying, most_leaving);
    EXPECT_LE(staying, kMostHeavy);
    EXPECT_GE(staying, kMostHeavy / 4);
  }
}

TEST(Table, MakesEverythingExactWhileItHasRoom) {
  Choice setup = SmallTable();
  setup.probability = 0.5;  // A sketch would soon be sampled.
  setup.columns = 16;
  setup.levels = 4;
  setup.level_top_k = 16;
  Lab lab(setup);
  for (uint32_t epoch = 0; epoch < 2; ++epoch) {
    lab.exact.clear();
    for (uint32_t flow = 0; flow < 100; ++flow) {
      lab.Send(flow, 1000 + 7 * (flow ^ epoch));
      lab.meter.AtRest(lab.now + 1'000'000 * flow);
    }
    double entropy = 0;
    uint64_t packets = 0;
    for (const auto& [flow, pkts] : lab.exact) packets += pkts;
    for (const auto& [flow, pkts] : lab.exact) {
      const double share = static_cast<double>(pkts) / static_cast<double>(packets);
      entropy -= share * std::log2(share);
    }
    const EpochReport report = *lab.EndEpoch();
    EXPECT_EQ(report.exact_pkts, packets);
    EXPECT_EQ(report.least_probability, 1);
    const KeyReport& key = report.keys[0];
    EXPECT_TRUE(key.table->complete);
    EXPECT_EQ(key.table->flows, 100u);
    EXPECT_EQ(key.table->flows_left, 0u);
    EXPECT_EQ(key.table->pkts, packets);
    ASSERT_EQ(key.heavy_hitters.size(), 100u);
    for (const FlowRecord& record : key.heavy_hitters) {
      const auto truth = static_cast<double>(lab.exact[test::NumberOf(record.key)]);
      EXPECT_EQ(record.packets.value, truth);
      EXPECT_EQ(record.packets.bound, 0);
      EXPECT_EQ(record.bytes.value, truth * test::kFrameBytes);
      EXPECT_EQ(record.bytes.bound, 0);
      EXPECT_EQ(record.counted_by, CountedBy::kTable);
    }
    EXPECT_EQ(key.distinct_flows->value, 100);
    EXPECT_EQ(key.distinct_flows->low, 100);
    EXPECT_EQ(key.distinct_flows->high, 100);
    EXPECT_NEAR(key.entropy->value, entropy, 1e-9);
    EXPECT_NEAR(key.entropy->high - key.entropy->low, 0, 1e-9);
    // Each flow has 7 more or 7 fewer packets than in the previous epoch.
    EXPECT_EQ(key.changes.size(), epoch == 0 ? 0u : 100u);
    for (const FlowChange& change : key.changes) {
      EXPECT_EQ(std::abs(change.difference.value), 7);
      EXPECT_EQ(change.difference.bound, 0);
    }
  }
}

// Flows 0 … 19 are heavy when flow 1000, which becomes heavy later, arrives and does not fit. All
// other flows are removed from the table. From then on, the sketch's rows are sampled.
TEST(Table, HandsOverWithinAnEpochAndKeepsWhatItCounted) {
  constexpr uint32_t kHeavy = 20, kLater = 1000;
  int beyond = 0, estimated = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Choice setup = SmallTable();
    setup.probability = 0x1p-7;
    setup.top_k = 1;  // 512 heavy flows may stay, which is more than the table has.
    setup.seed = seed;
    setup.exact_flows = 1000;
    Lab lab(setup);
    for (uint32_t flow = 0; flow < 1000; ++flow) lab.Send(flow, flow < kHeavy ? 2000 : 100);
    lab.Send(kLater, 100);
    EXPECT_EQ(lab.exact.size(), 1001u);
    lab.meter.AtRest(lab.now);  // After this, 1/2^7 of the rows are updated.
    for (int round = 0; round < 40; ++round) {
      for (uint32_t flow = 0; flow < kHeavy; ++flow) lab.Send(flow, 50);
      for (uint32_t flow = 30; flow < 40; ++flow) lab.Send(flow, 200);
      lab.Send(kLater, 1000);
    }
    ASSERT_TRUE(lab.meter.Finish(kEpoch / 2));
    const Epoch& epoch = *lab.meter.Closed();
    EXPECT_EQ(epoch.least_probability, 0x1p-7);
    const FlowCounter& counter = epoch.counters[0];
    EXPECT_FALSE(counter.exact().open());
    const FlowEstimator estimator(counter, epoch);
    for (const auto& [flow, pkts] : lab.exact) {
      const FlowEstimator::Counts counts = estimator.Of(counter.HashOf(KeyOf(flow)));
      const auto truth = static_cast<double>(pkts);
      if (flow < kHeavy) {
        EXPECT_EQ(counts.counted_by, CountedBy::kTable) << flow;
        EXPECT_EQ(counts.packets.value, truth);
        EXPECT_EQ(counts.packets.bound, 0);
        EXPECT_EQ(counts.bytes.value, truth * test::kFrameBytes);
      } else {
        EXPECT_EQ(counts.counted_by, flow == kLater ? CountedBy::kSketch : CountedBy::kBoth)
            << flow;
        EXPECT_GE(counts.packets.value, flow == kLater ? 0 : 100);
        EXPECT_GT(counts.packets.bound, 0);
        ++estimated;
        beyond += std::abs(counts.packets.value - truth) > counts.packets.bound;
      }
    }
    Analyst analyst(setup, kCyclesPerSecond);
    const Epoch* const closed = &epoch;
    const EpochReport report = *analyst.Report({&closed, 1});
    EXPECT_FALSE(report.keys[0].table->complete);
    EXPECT_EQ(report.keys[0].table->flows, 1000u);
    EXPECT_EQ(report.keys[0].table->flows_left, 1000u - kHeavy);
    EXPECT_EQ(report.keys[0].table->pkts, kHeavy * 4000u + (1000 - kHeavy) * 100);
    ASSERT_EQ(report.keys[0].heavy_hitters.size(), 1u);
    EXPECT_EQ(test::NumberOf(report.keys[0].heavy_hitters[0].key), kLater);
    EXPECT_EQ(report.keys[0].heavy_hitters[0].counted_by, CountedBy::kSketch);
  }
  EXPECT_LE(beyond, estimated / 20);
}

// Before the sketch is sampled, its sampling rate is also based on the counts in the table.
TEST(Table, LetsTheSketchBeSampledAtOnceIfEnoughWasSeen) {
  Choice setup = SmallTable();
  // With this sampling probability, the sketch needs 1500 packets of one flow to converge, with or
  // without the table.
  setup.probability = 0.5;
  Lab lab(setup);
  lab.Send(1, 40'000);
  lab.meter.AtRest(lab.now);
  for (uint32_t flow = 0; flow < 101; ++flow) lab.Send(flow, 1);
  lab.meter.AtRest(lab.now);
  lab.Send(2000, 40'000);
  const EpochReport report = *lab.EndEpoch();
  EXPECT_EQ(report.exact_pkts, 40'101u);
  EXPECT_EQ(report.least_probability, 0.5);
  EXPECT_EQ(report.keys[0].heavy_hitters[0].packets.value, 40'001);
  EXPECT_EQ(report.keys[0].heavy_hitters[0].packets.bound, 0);
}

// The first key's table is closed and its sketch is already sampled when the second key's table is
// closed in the middle of a burst.
TEST(Table, CountsTheSameHoweverFramesAreDividedIntoBursts) {
  const test::MixedFrames few(40'000, 400, 3), many(20'000, 4000, 4);
  Choice setup = SmallTable();
  setup.keys = {{}, {KeyKind::kSource, 31, 128}};
  setup.exact_flows = 300;
  setup.columns = 16;
  setup.probability = 0.5;
  setup.levels = 3;
  setup.level_columns = 64;
  setup.level_top_k = 16;
  const auto counted = [&](uint64_t most) {
    auto meter = std::make_unique<Meter>(setup, 0, kCyclesPerSecond, 0);
    test::InBursts(*meter, few.frames(), most, most);
    meter->AtRest(1);
    test::InBursts(*meter, many.frames(), most, most + 1);
    EXPECT_TRUE(meter->Finish(2));
    return meter;
  };
  const auto one_by_one = counted(1);
  const Epoch& a = *one_by_one->Closed();
  EXPECT_EQ(a.exact_pkts, 40'000u);
  EXPECT_EQ(a.least_probability, 0.5);
  for (const uint64_t most : {7u, 64u, 1000u}) {
    const auto meter = counted(most);
    const Epoch& b = *meter->Closed();
    EXPECT_EQ(a.other, b.other);
    for (size_t key = 0; key < 2; ++key) {
      const ExactFlows &x = a.counters[key].exact(), &y = b.counters[key].exact();
      EXPECT_FALSE(x.open());
      EXPECT_FALSE(y.open());
      EXPECT_EQ(x.HeavySquares(), y.HeavySquares());
      ASSERT_EQ(x.flows().size(), y.flows().size());
      for (const ExactFlows::Flow& flow : x.flows()) {
        ASSERT_NE(y.Find(flow.hash), nullptr);
        EXPECT_EQ(y.Find(flow.hash)->pkts, flow.pkts);
        EXPECT_EQ(y.Find(flow.hash)->bytes, flow.bytes);
        EXPECT_EQ(y.Counts(flow.hash), x.Counts(flow.hash));
      }
      const Sketch& s = a.counters[key].levels()[0].sketch;
      const Sketch& t = b.counters[key].levels()[0].sketch;
      for (size_t i = 0; i < s.shape().cells(); ++i) {
        ASSERT_EQ(s.Row(0)[i].packets, t.Row(0)[i].packets);
        ASSERT_EQ(s.Row(0)[i].bytes, t.Row(0)[i].bytes);
      }
    }
  }
}

// All flows fit in the table of worker a, but not in that of worker b. A flow is exact if both
// workers counted it exactly.
TEST(Table, OfSeveralWorkersIsExactWhereAllOfThemAre) {
  Choice setup = SmallTable();
  setup.top_k = 200;
  Lab a(setup, 0), b(setup, 1);
  for (uint32_t flow = 0; flow < 60; ++flow) a.Send(flow, 10);
  for (uint32_t flow = 50; flow < 150; ++flow) b.Send(flow, flow < 70 ? 1000 : 1);
  for (uint32_t flow = 50; flow < 160; ++flow) b.Send(flow, 5);
  for (Lab* lab : {&a, &b}) ASSERT_TRUE(lab->meter.Finish(1));
  EXPECT_TRUE(a.meter.Closed()->counters[0].exact().open());
  EXPECT_FALSE(b.meter.Closed()->counters[0].exact().open());
  const Epoch* const orders[][2] = {{a.meter.Closed(), b.meter.Closed()},
                                    {b.meter.Closed(), a.meter.Closed()}};
  for (const auto& order : orders) {
    Analyst analyst(setup, kCyclesPerSecond);
    const EpochReport report = *analyst.Report(order);
    EXPECT_FALSE(report.keys[0].table->complete);
    EXPECT_EQ(report.keys[0].table->flows, 150u);
    EXPECT_EQ(report.keys[0].table->pkts, 60u * 10 + 20 * 1000 + 80 + 5 * 100);
    const Epoch& merged = analyst.merged();
    const FlowEstimator estimator(merged.counters[0], merged);
    for (uint32_t flow = 0; flow < 160; ++flow) {
      const auto counts = estimator.Of(merged.counters[0].HashOf(KeyOf(flow)));
      const auto truth = static_cast<double>(a.exact[flow] + b.exact[flow]);
      // Up to 512 heavy flows of worker b can remain, so all 100 flows in its table remain.
      const bool of_b = flow >= 50 && flow < 150;
      EXPECT_EQ(counts.counted_by, of_b          ? CountedBy::kTable
                                   : flow >= 150 ? CountedBy::kSketch
                                                 : CountedBy::kBoth)
          << flow;
      // Every packet is counted, and the sketch knows its ten flows from their first packets.
      EXPECT_EQ(counts.packets.value, truth) << flow;
      EXPECT_EQ(counts.packets.bound, 0) << flow;
    }
  }
}

TEST(Table, LeavesFlowsAndEntropyWithinBoundsWhenItHandsOver) {
  for (const double p : {1.0, 0.1}) {
    int distinct_within = 0, entropy_within = 0;
    constexpr int kSeeds = 8;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Choice setup = SmallTable();
      setup.exact_flows = 2000;
      setup.columns = 1 << 12;
      setup.levels = 10;
      setup.level_columns = 1 << 13;
      setup.level_top_k = 250;
      setup.probability = p;
      setup.seed = seed;
      Lab lab(setup);
      lab.SendZipf(150'000, 20'000, seed);
      double entropy = 0;
      for (const auto& [flow, packets] : lab.exact) {
        const double share = static_cast<double>(packets) / 150'000;
        entropy -= share * std::log2(share);
      }
      const auto flows = static_cast<double>(lab.exact.size());
      const EpochReport report = *lab.EndEpoch();
      EXPECT_FALSE(report.keys[0].table->complete);
      const Range distinct = *report.keys[0].distinct_flows, bits = *report.keys[0].entropy;
      distinct_within += distinct.low <= flows && flows <= distinct.high;
      entropy_within += bits.low <= entropy && entropy <= bits.high;
      EXPECT_NEAR(bits.value, entropy, 0.3) << p;
      EXPECT_NEAR(distinct.value / flows, 1, 0.5) << p;
    }
    EXPECT_GE(distinct_within, kSeeds - 1) << p;
    EXPECT_GE(entropy_within, kSeeds - 1) << p;
  }
}

}  // namespace
}  // namespace sluice::engine::telemetry
