// SPDX-License-Identifier: BSD-3-Clause
//
// Compares reports with exact counts. Bounds must hold with the promised probability, estimates
// must be unbiased, and exact values must be reported where possible.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lab.h"

namespace sluice::engine::telemetry {
namespace {

using test::Lab;
using Choice = Setup;  // Setup is a method of gtest fixtures.

/// Returns a setup without a table of exact flows, so that every pace uses only the sketch.
Choice Small() {
  Choice setup;
  setup.exact_flows = 0;
  setup.columns = 1 << 10;
  setup.top_k = 50;
  setup.pace = Pace::kFixed;
  setup.probability = 1;
  setup.heavy_hitter_share = 0;
  setup.change_share = 0;
  return setup;
}

TEST(Estimates, AreExactAtALowRate) {
  for (const Pace pace : {Pace::kAlwaysCorrect, Pace::kAlwaysLineRate}) {
    for (const SketchKind kind : {SketchKind::kCountSketch, SketchKind::kCountMin}) {
      Choice setup = Small();
      setup.pace = pace;
      setup.sketch = kind;
      setup.columns = 16;  // All flows collide.
      Lab lab(setup);
      for (uint32_t flow = 0; flow < 80; ++flow) lab.Send(flow, 1 + flow * 3);
      const EpochReport report = *lab.EndEpoch();
      ASSERT_EQ(report.keys[0].heavy_hitters.size(), 50u);
      for (const FlowRecord& record : report.keys[0].heavy_hitters) {
        const auto truth = static_cast<double>(lab.exact[test::NumberOf(record.key)]);
        EXPECT_EQ(record.packets.value, truth);
        EXPECT_EQ(record.packets.bound, 0);
        EXPECT_EQ(record.bytes.value, truth * test::kFrameBytes);
      }
      EXPECT_EQ(report.keys[0].heavy_hitters[0].packets.value, 1 + 79 * 3);
      EXPECT_EQ(report.exact_pkts, report.total.pkts);
    }
  }
}

TEST(Estimates, AreExactWithManyColumnsThoughFewFlowsAreKnown) {
  Choice setup = Small();
  setup.columns = 1 << 16;
  setup.top_k = 5;
  Lab lab(setup);
  for (int round = 0; round < 30; ++round) {
    for (uint32_t flow = 0; flow < 300; ++flow) lab.Send(flow, 1 + flow / 10);
  }
  const EpochReport report = *lab.EndEpoch();
  ASSERT_EQ(report.keys[0].heavy_hitters.size(), 5u);
  for (const FlowRecord& record : report.keys[0].heavy_hitters) {
    EXPECT_NEAR(record.packets.value, 30 * 30, 1e-6);
  }
}

/// Runs traffic with a Zipf distribution or with equal flows. Returns two numbers: how many
/// reported flows have true counts beyond their bounds, and how many flows are reported.
std::pair<int, int> BeyondBounds(Choice setup, bool equal) {
  int beyond = 0, all = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    setup.seed = seed;
    setup.oracle_one_in = 1;  // Queries all flows, including those that look small.
    Lab lab(setup);
    if (equal) {
      engine::workload::Random random(seed);
      for (int i = 0; i < 60'000; ++i) lab.Send(static_cast<uint32_t>(random.Below(300)));
    } else {
      lab.SendZipf(60'000, 3000, seed);
    }
    const EpochReport report = *lab.EndEpoch();
    const OracleReport& oracle = *report.keys[0].oracle;
    EXPECT_EQ(oracle.flows, lab.exact.size());
    EXPECT_EQ(oracle.refused_pkts, 0u);
    beyond += static_cast<int>(oracle.beyond_bound);
    all += static_cast<int>(oracle.compared_flows);
  }
  return {beyond, all};
}

TEST(Estimates, StayWithinTheirBoundsAsOftenAsPromised) {
  for (const SketchKind kind : {SketchKind::kCountSketch, SketchKind::kCountMin}) {
    for (const double p : {1.0, 0.3, 0.1, 0.01}) {
      for (const uint32_t columns : {256u, 2048u}) {
        for (const uint32_t rows : {3u, 8u}) {
          for (const bool equal : {false, true}) {
            Choice setup = Small();
            setup.sketch = kind;
            setup.probability = p;
            setup.columns = columns;
            setup.rows = rows;
            const auto [beyond, all] = BeyondBounds(setup, equal);
            EXPECT_GT(all, 100);
            EXPECT_LE(beyond, 0.05 * all)
                << (kind == SketchKind::kCountMin ? "count-min" : "count sketch") << " p " << p
                << " columns " << columns << " rows " << rows << (equal ? " equal" : " Zipf");
          }
        }
      }
    }
  }
}

TEST(Estimates, AreUnbiasedOverSeedsForAnyProbability) {
  constexpr int kSeeds = 600;
  for (const double p : {0.7, 0.3, 0.01}) {
    double packets = 0, bytes = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      Choice setup = Small();
      setup.columns = 256;
      setup.rows = 4;
      setup.probability = p;
      setup.seed = seed;
      Lab lab(setup);
      lab.Send(1, 2000);
      const EpochReport report = *lab.EndEpoch();
      if (report.keys[0].heavy_hitters.empty()) continue;
      packets += report.keys[0].heavy_hitters[0].packets.value;
      bytes += report.keys[0].heavy_hitters[0].bytes.value;
    }
    const double deviation = std::sqrt(2000 * (1 - p) / p / 4 / kSeeds);
    EXPECT_NEAR(packets / kSeeds, 2000, 5 * deviation) << p;
    EXPECT_NEAR(bytes / kSeeds, 2000 * test::kFrameBytes, 5 * deviation * test::kFrameBytes) << p;
  }
}

TEST(Estimates, FindTheHeavyHittersOfSampledTraffic) {
  Choice setup = Small();
  setup.columns = 1 << 14;
  setup.probability = 0.05;
  setup.top_k = 20;
  setup.heavy_hitter_share = 0.01;
  Lab lab(setup);
  lab.SendZipf(500'000, 10'000, 3);
  const EpochReport report = *lab.EndEpoch();
  const double total = 500'000;
  const auto& found = report.keys[0].heavy_hitters;
  const auto reported = [&](uint32_t flow) {
    return std::count_if(found.begin(), found.end(),
                         [&](const FlowRecord& r) { return test::NumberOf(r.key) == flow; });
  };
  for (const auto& [flow, packets] : lab.exact) {
    const auto count = static_cast<double>(packets);
    if (count > 0.015 * total) {
      EXPECT_EQ(reported(flow), 1) << flow;
    } else if (count < 0.005 * total) {
      EXPECT_EQ(reported(flow), 0) << flow;
    }
  }
}

// A flow that becomes known late collides with other flows in every row. Its packets since then are
// counted exactly, but its counters in the sketch are inexact.
TEST(Estimates, OfAFlowThatBecameKnownLaterAreWhatWasCountedSince) {
  for (const uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    Choice setup = Small();
    setup.columns = 64;
    setup.top_k = 1;  // Two flows are known.
    setup.seed = seed;
    Lab lab(setup);
    for (uint32_t flow = 0; flow < 40; ++flow) lab.Send(flow, 10);
    lab.Send(99,
             // The flow is known after about ten packets, so the error is at most a few hundredths.
             1000);
    for (int round = 0; round < 200; ++round) {
      for (uint32_t flow = 200; flow < 280; ++flow) lab.Send(flow);
      lab.Send(99, 100);
    }
    const EpochReport report = *lab.EndEpoch();
    ASSERT_EQ(report.keys[0].heavy_hitters.size(), 1u);
    EXPECT_EQ(test::NumberOf(report.keys[0].heavy_hitters[0].key), 99u);
    EXPECT_NEAR(report.keys[0].heavy_hitters[0].packets.value, 21'000, 60) << seed;
  }
}

TEST(Changes, BetweenEpochsAreFoundAndNothingElse) {
  Choice setup = Small();
  setup.columns = 1 << 14;
  setup.probability = 0.1;
  setup.change_share = 0.005;
  Lab lab(setup);
  for (uint32_t flow = 0; flow < 50; ++flow) lab.Send(flow, 4000);
  EXPECT_TRUE(lab.EndEpoch()->keys[0].changes.empty());
  for (uint32_t flow = 0; flow < 50; ++flow) {
    lab.Send(flow, flow == 3 ? 40'000 : flow == 7 ? 0 : 4000);
  }
  lab.Send(99, 12'000);
  const std::vector<FlowChange> changes = lab.EndEpoch()->keys[0].changes;
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(test::NumberOf(changes[0].key), 3u);
  EXPECT_NEAR(changes[0].difference.value, 36'000, changes[0].difference.bound);
  EXPECT_EQ(test::NumberOf(changes[1].key), 99u);
  EXPECT_NEAR(changes[1].difference.value, 12'000, changes[1].difference.bound);
  EXPECT_EQ(test::NumberOf(changes[2].key), 7u);
  EXPECT_NEAR(changes[2].difference.value, -4000, changes[2].difference.bound);
  // An epoch of half the length must not be used as a reference for the next one.
  lab.Send(1, 100);
  lab.now += test::kEpoch / 2;
  ASSERT_TRUE(lab.meter.Finish(lab.now));
  const Epoch* const half = lab.meter.Closed();
  EXPECT_TRUE(lab.analyst.Report({&half, 1})->keys[0].changes.empty());
}

TEST(Oracle, RefusesFlowsBeyondItsRoomAndCountsTheOthersExactly) {
  Choice setup = Small();
  setup.oracle_one_in = 1;
  setup.oracle_flows = 10;
  Lab lab(setup);
  for (int round = 0; round < 2; ++round) {
    for (uint32_t flow = 0; flow < 25; ++flow) lab.Send(flow, 100);
  }
  const EpochReport report = *lab.EndEpoch();
  const OracleReport& oracle = *report.keys[0].oracle;
  EXPECT_EQ(oracle.flows, 10u);
  EXPECT_EQ(oracle.refused_pkts, 15u * 200);
  EXPECT_EQ(oracle.compared_flows, 10u);
  EXPECT_EQ(oracle.max_relative_error, 0);
  int exact = 0;
  for (const FlowRecord& record : report.keys[0].heavy_hitters) {
    if (!record.exact) continue;
    ++exact;
    EXPECT_LT(test::NumberOf(record.key), 10u);
    EXPECT_EQ(*record.exact, (Traffic{200, 200 * test::kFrameBytes}));
  }
  EXPECT_EQ(exact, 10);
}

TEST(Oracle, ChoosesOneFlowOfAThousand) {
  const Oracle oracle(1000, 100, 5);
  int chosen = 0;
  for (uint64_t i = 0; i < 1'000'000; ++i) chosen += oracle.Chooses(engine::workload::Mix(i));
  EXPECT_NEAR(chosen, 1000, 5 * std::sqrt(1000));
}

TEST(Universal, CountsDistinctFlowsAndEntropyWithinBounds) {
  for (const double p : {1.0, 0.1}) {
    int distinct_within = 0, entropy_within = 0;
    constexpr int kSeeds = 12;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Choice setup = Small();
      setup.columns = 1 << 12;
      setup.levels = 10;
      setup.level_columns = 1 << 13;
      setup.level_top_k = 250;
      setup.probability = p;
      setup.seed = seed;
      Lab lab(setup);
      lab.SendZipf(200'000, 20'000, seed);
      double entropy = 0;
      for (const auto& [flow, packets] : lab.exact) {
        const double share = static_cast<double>(packets) / 200'000;
        entropy -= share * std::log2(share);
      }
      const auto flows = static_cast<double>(lab.exact.size());
      const EpochReport report = *lab.EndEpoch();
      const Range distinct = *report.keys[0].distinct_flows, bits = *report.keys[0].entropy;
      distinct_within += distinct.low <= flows && flows <= distinct.high;
      entropy_within += bits.low <= entropy && entropy <= bits.high;
      EXPECT_LE(distinct.low, distinct.value);
      EXPECT_LE(distinct.value, distinct.high);
      // Checks that the estimates are useful: 125 to 250 flows at the last level yield an error of
      // about a tenth.
      EXPECT_NEAR(bits.value, entropy, 0.4) << p;
      if (p == 1) {
        EXPECT_NEAR(distinct.value / flows, 1, 0.4);
        EXPECT_LT(distinct.high - distinct.low, flows);
        EXPECT_LT(bits.high - bits.low, 3);
      }
    }
    EXPECT_GE(distinct_within, kSeeds - 2) << p;
    EXPECT_GE(entropy_within, kSeeds - 2) << p;
  }
}

TEST(Universal, IsExactWhileAllFlowsAreKnown) {
  Choice setup = Small();
  setup.levels = 4;
  setup.level_top_k = 64;
  Lab lab(setup);
  for (uint32_t flow = 0; flow < 64; ++flow) lab.Send(flow, 5);
  const EpochReport report = *lab.EndEpoch();
  EXPECT_EQ(report.keys[0].distinct_flows->value, 64);
  EXPECT_EQ(report.keys[0].distinct_flows->low, 64);
  EXPECT_EQ(report.keys[0].distinct_flows->high, 64);
  EXPECT_NEAR(report.keys[0].entropy->value, 6, 1e-9);  // log2 of 64 equal flows.
  EXPECT_NEAR(report.keys[0].entropy->high - report.keys[0].entropy->low, 0, 1e-9);
}

TEST(Universal, OfAnEmptyEpochIsNothing) {
  Choice setup = Small();
  setup.levels = 4;
  Lab lab(setup);
  const EpochReport report = *lab.EndEpoch();
  EXPECT_EQ(report.keys[0].distinct_flows->high, 0);
  EXPECT_EQ(report.keys[0].entropy->high, 0);
  EXPECT_TRUE(report.keys[0].heavy_hitters.empty());
}

}  // namespace
}  // namespace sluice::engine::telemetry
