// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the engine from the point of view of a worker and a reader.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "lab.h"

namespace sluice::engine::telemetry {
namespace {

using test::FrameOf;
using test::kCyclesPerSecond;
using test::kEpoch;
using test::KeyOf;
using test::Lab;
using Choice = Setup;  // Setup is a method of gtest fixtures.

/// Returns a setup without a table of exact flows, so that all counts come from the sketch.
Choice Small() {
  Choice setup;
  setup.exact_flows = 0;
  setup.columns = 1 << 10;
  setup.heavy_hitter_share = 0;
  return setup;
}

TEST(Meter, ForwardsEveryFrameUntouched) {
  Meter meter(Small(), 0, kCyclesPerSecond, 0);
  std::vector<std::vector<uint8_t>> frames = {
      {}, std::vector<uint8_t>(13), std::vector<uint8_t>(60)};
  const auto plain = FrameOf(1);
  frames.emplace_back(plain.begin(), plain.end());
  for (std::vector<uint8_t>& bytes : frames) {
    const std::vector<uint8_t> before = bytes;
    packet::Frame frame{bytes.data(), static_cast<uint32_t>(bytes.size()), 0, 0};
    EXPECT_EQ(packet::ProcessFrame(meter, frame, 0), packet::kForward);
    EXPECT_EQ(frame.data, bytes.data());
    EXPECT_EQ(frame.length, bytes.size());
    EXPECT_EQ(bytes, before);
  }
}

TEST(Meter, CountsFramesWithoutAKeyAndLetsThemCountAsPackets) {
  for (const double p : {1.0, 0.1}) {
    Choice setup = Small();
    setup.pace = Pace::kFixed;
    setup.probability = p;
    Lab lab(setup);
    std::array<uint8_t, 60> arp{};
    arp[12] = 8;
    arp[13] = 6;
    for (int i = 0; i < 20'000; ++i) {
      packet::Frame frame{arp.data(), 60, 0, 0};
      packet::ProcessFrame(lab.meter, frame, 0);
      if (i % 4 == 0) lab.Send(1);
    }
    const EpochReport report = *lab.EndEpoch();
    EXPECT_EQ(report.total, (Traffic{25'000, 25'000 * 60}));
    EXPECT_NEAR(report.other_pkts.value, 20'000, report.other_pkts.bound);
    EXPECT_EQ(report.other_pkts.bound == 0, p == 1);
    ASSERT_EQ(report.keys[0].heavy_hitters.size(), 1u);
    EXPECT_NEAR(report.keys[0].heavy_hitters[0].packets.value, 5000,
                report.keys[0].heavy_hitters[0].packets.bound);
  }
}

TEST(Meter, CountsByAllKeysInOnePass) {
  for (const double p : {1.0, 0.25}) {
    Choice setup = Small();
    setup.pace = Pace::kFixed;
    setup.probability = p;
    setup.keys = {{}, {KeyKind::kDestination}, {KeyKind::kSource, 24, 64}};
    Lab lab(setup);
    for (uint32_t flow = 0; flow < 100; ++flow) lab.Send(0x100 + flow, 100);
    lab.Send(0x20000, 500);
    const EpochReport report = *lab.EndEpoch();
    ASSERT_EQ(report.keys.size(), 3u);
    EXPECT_EQ(report.keys[0].heavy_hitters[0].key, KeyOf(0x20000));
    EXPECT_EQ(report.keys[0].heavy_hitters.size(), 100u);
    const auto near = [](const Estimate& estimate, double truth) {
      EXPECT_NEAR(estimate.value, truth, estimate.bound);
    };
    ASSERT_EQ(report.keys[1].heavy_hitters.size(), 1u);
    near(report.keys[1].heavy_hitters[0].packets, 10'500);
    near(report.keys[1].heavy_hitters[0].bytes, 10'500 * 60);
    ASSERT_EQ(report.keys[2].heavy_hitters.size(), 2u);
    near(report.keys[2].heavy_hitters[0].packets, 10'000);
    near(report.keys[2].heavy_hitters[1].packets, 500);
    EXPECT_EQ(report.keys[2].heavy_hitters[1].key.source, (packet::Ipv6Address{10, 2, 0, 0}));
  }
}

TEST(Meter, CountsTheSameFromTheSameSeed) {
  const auto counted = [](uint64_t seed, uint32_t worker) {
    Choice setup = Small();
    setup.pace = Pace::kFixed;
    setup.probability = 0.02;
    setup.seed = seed;
    Lab lab(setup, worker);
    lab.SendZipf(50'000, 1000, 4);
    std::vector<double> counts;
    const EpochReport report = *lab.EndEpoch();
    for (const FlowRecord& record : report.keys[0].heavy_hitters) {
      counts.push_back(record.packets.value);
    }
    return counts;
  };
  EXPECT_EQ(counted(1, 0), counted(1, 0));
  EXPECT_NE(counted(1, 0), counted(2, 0));
  EXPECT_NE(counted(1, 0), counted(1, 1)) << "workers must not draw the same samples";
}

TEST(Meter, EndsEpochsAtMultiplesOfTheirLength) {
  Meter meter(Small(), 0, kCyclesPerSecond, 2 * kEpoch + 700'000'000);
  meter.AtRest(3 * kEpoch - 1);
  EXPECT_EQ(meter.Closed(), nullptr);
  meter.AtRest(3 * kEpoch);
  ASSERT_NE(meter.Closed(), nullptr);
  EXPECT_EQ(meter.Closed()->number, 2u);
  EXPECT_EQ(meter.Closed()->start_cycles, 2 * kEpoch + 700'000'000);
  EXPECT_EQ(meter.Closed()->end_cycles, 3 * kEpoch);
  meter.Release();
  EXPECT_EQ(meter.Closed(), nullptr);
  meter.AtRest(1);  // The clock steps back.
  EXPECT_EQ(meter.Closed(), nullptr);
  meter.AtRest(9 * kEpoch + 5);  // The clock leaps forward.
  ASSERT_NE(meter.Closed(), nullptr);
  EXPECT_EQ(meter.Closed()->number, 3u);
  meter.Release();
  meter.AtRest(10 * kEpoch - 1);
  EXPECT_EQ(meter.Closed(), nullptr);
  meter.AtRest(10 * kEpoch);
  ASSERT_NE(meter.Closed(), nullptr);
  EXPECT_EQ(meter.Closed()->number, 9u);
}

TEST(Meter, LosesNothingWhileTheReaderIsLate) {
  Lab lab(Small());
  lab.Send(1, 10);
  lab.meter.AtRest(kEpoch);
  lab.Send(1, 20);
  lab.meter.AtRest(2 * kEpoch);  // The reader has not released the first epoch.
  EXPECT_FALSE(lab.meter.Finish(2 * kEpoch));
  lab.Send(1, 30);
  EXPECT_EQ(lab.meter.Closed()->total.pkts, 10u);
  lab.meter.Release();
  EXPECT_TRUE(lab.meter.Finish(2 * kEpoch + 1));
  EXPECT_EQ(lab.meter.Closed()->total.pkts, 50u);
  EXPECT_EQ(lab.meter.Closed()->counters[0].levels()[0].known.flows()[0].samples, 50u * 8);
}

TEST(Meter, ReusesItsBuffersClean) {
  Choice setup = Small();
  setup.levels = 3;
  setup.level_top_k = 600;
  Lab lab(setup);
  for (uint32_t epoch = 0; epoch < 4; ++epoch) {
    for (uint32_t flow = 0; flow < 500; ++flow) lab.Send(1000 * epoch + flow);
    lab.Send(epoch, 7);
    const EpochReport report = *lab.EndEpoch();
    EXPECT_EQ(report.total.pkts, 507u);
    EXPECT_EQ(report.number, epoch);
    EXPECT_EQ(test::NumberOf(report.keys[0].heavy_hitters[0].key), epoch);
    // Flow 0 is one of the 500 flows in the first epoch.
    EXPECT_EQ(report.keys[0].distinct_flows->value, epoch == 0 ? 500 : 501);
  }
}

TEST(AlwaysCorrect, CountsEverythingUntilEachEpochHasConverged) {
  Choice setup = Small();
  setup.probability = 0.5;
  setup.columns = 1 << 10;
  // Σ f² must exceed 121·(1 + √(8/1024))·(1024·0.5/8·2)² packets², for which one flow of 1500
  // packets suffices.
  Lab lab(setup);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int burst = 0; burst < 40; ++burst) {
      lab.Send(1, 1024);
      lab.meter.AtRest(lab.now);
    }
    const EpochReport report = *lab.EndEpoch();
    EXPECT_EQ(report.exact_pkts, Pacer::kPktsPerLook) << "the first look after it had converged";
    EXPECT_EQ(report.least_probability, 0.5);
    EXPECT_EQ(report.last_probability, 0.5);
    // This traffic is not enough for the sketch to converge.
    for (uint32_t flow = 0; flow < 35'000; ++flow) {
      lab.Send(flow % 20'000);
      if (flow % 1000 == 0) lab.meter.AtRest(lab.now);
    }
    const EpochReport small = *lab.EndEpoch();
    EXPECT_EQ(small.exact_pkts, 35'000u);
    EXPECT_EQ(small.least_probability, 1);
  }
}

TEST(AlwaysLineRate, HalvesTheProbabilityAsTheRateDoubles) {
  EXPECT_EQ(Pacer::LineRateProbability(0, 1e6), 1);
  EXPECT_EQ(Pacer::LineRateProbability(1e6, 1e6), 1);
  EXPECT_EQ(Pacer::LineRateProbability(1.01e6, 1e6), 0x1p-1);
  EXPECT_EQ(Pacer::LineRateProbability(2e6, 1e6), 0x1p-1);
  EXPECT_EQ(Pacer::LineRateProbability(2.01e6, 1e6), 0x1p-2);
  EXPECT_EQ(Pacer::LineRateProbability(128e6, 1e6), 0x1p-7);
  EXPECT_EQ(Pacer::LineRateProbability(1e300, 1e6), 0x1p-7);
}

TEST(AlwaysLineRate, FollowsTheRateEveryTenthOfASecond) {
  Choice setup = Small();
  setup.pace = Pace::kAlwaysLineRate;
  setup.full_rate_pps = 10'000;  // 1000 packets per tenth of a second.
  setup.epoch_ns = 10'000'000'000;
  Meter meter(setup, 0, kCyclesPerSecond, 0);
  uint64_t now = 0;
  auto bytes = FrameOf(1);
  const auto probability_after = [&](int pkts) {
    for (int i = 0; i < pkts; ++i) {
      packet::Frame frame{bytes.data(), 60, 0, 0};
      packet::ProcessFrame(meter, frame, now);
    }
    now += 100'000'000;
    meter.AtRest(now);
    meter.Finish(now);  // Closes the epoch for inspection. The pace does not change.
    const double probability = meter.Closed()->last_probability;
    EXPECT_EQ(meter.Closed()->total.pkts, static_cast<uint64_t>(pkts));
    meter.Release();
    return probability;
  };
  EXPECT_EQ(probability_after(1000), 1);
  EXPECT_EQ(probability_after(4000), 0x1p-2);
  EXPECT_EQ(probability_after(1'000'000), 0x1p-7);
  EXPECT_EQ(probability_after(100), 1);
}

TEST(Merge, OfTwoWorkersIsWhatOneWouldHaveCounted) {
  Choice setup = Small();
  setup.pace = Pace::kFixed;
  setup.probability = 1;
  setup.levels = 4;
  setup.level_top_k = 100;
  setup.top_k = 50;
  setup.oracle_one_in = 2;
  Lab one(setup), a(setup, 0), b(setup, 1);
  const engine::workload::Popularity popularity(2000, 1);
  engine::workload::Random random(8);
  for (int i = 0; i < 100'000; ++i) {
    const auto flow = static_cast<uint32_t>(popularity.Draw(random));
    one.Send(flow);
    (flow % 2 == 0 ? a : b).Send(flow);
  }
  for (Lab* lab : {&one, &a, &b}) ASSERT_TRUE(lab->meter.Finish(kEpoch / 2));
  Epoch merged(setup);
  ASSERT_TRUE(merged.Merge(*a.meter.Closed()));
  ASSERT_TRUE(merged.Merge(*b.meter.Closed()));
  const Epoch& whole = *one.meter.Closed();
  EXPECT_EQ(merged.total, whole.total);
  for (size_t level = 0; level < 4; ++level) {
    const Sketch& x = merged.counters[0].levels()[level].sketch;
    const Sketch& y = whole.counters[0].levels()[level].sketch;
    for (size_t i = 0; i < x.shape().cells(); ++i) {
      ASSERT_EQ(x.Row(0)[i].packets, y.Row(0)[i].packets);
      ASSERT_EQ(x.Row(0)[i].bytes, y.Row(0)[i].bytes);
    }
  }
  EXPECT_EQ(merged.counters[0].oracle().counts(), whole.counters[0].oracle().counts());

  const Epoch* const both[] = {a.meter.Closed(), b.meter.Closed()};
  Analyst analyst(setup, kCyclesPerSecond);
  const EpochReport report = *analyst.Report(both);
  EXPECT_EQ(report.workers, 2u);
  EXPECT_EQ(report.total.pkts, 100'000u);
  ASSERT_EQ(report.keys[0].heavy_hitters.size(), 50u);
  for (uint32_t i = 0; i < 5; ++i) {
    const FlowRecord& record = report.keys[0].heavy_hitters[i];
    EXPECT_NEAR(record.packets.value, static_cast<double>(one.exact[test::NumberOf(record.key)]),
                record.packets.bound);
  }
}

TEST(Merge, OfFlowsThatBothWorkersKnowFromTheirFirstPacketIsExact) {
  Choice setup = Small();
  setup.columns = 16;
  Lab a(setup, 0), b(setup, 1);
  for (uint32_t flow = 0; flow < 60; ++flow) a.Send(flow, flow + 1);
  for (uint32_t flow = 30; flow < 90; ++flow) b.Send(flow, 100);
  for (Lab* lab : {&a, &b}) ASSERT_TRUE(lab->meter.Finish(1));
  const Epoch* const both[] = {a.meter.Closed(), b.meter.Closed()};
  Analyst analyst(setup, kCyclesPerSecond);
  const EpochReport report = *analyst.Report(both);
  ASSERT_EQ(report.keys[0].heavy_hitters.size(), 90u);
  for (const FlowRecord& record : report.keys[0].heavy_hitters) {
    const uint32_t flow = test::NumberOf(record.key);
    EXPECT_EQ(record.packets.value, static_cast<double>(a.exact[flow] + b.exact[flow]));
    EXPECT_EQ(record.packets.bound, 0);
  }
}

// Workers share the flows. The merged counts must equal those of a single worker, including the
// samples that identify flows that were seen only once.
TEST(Merge, OfFlowsThatSeveralWorkersSawIsWhatOneWouldHaveCounted) {
  Choice setup = Small();
  setup.levels = 4;
  setup.level_top_k = 64;
  Lab one(setup), a(setup, 0), b(setup, 1), c(setup, 2);
  for (uint32_t flow = 0; flow < 30; ++flow) {
    // Worker a sees flow 0 once, workers a and b see flow 1, all workers see flow 2, and so on.
    uint32_t left = flow + 1;
    for (; left != 0; --left) {
      one.Send(flow);
      (left % 3 == 1 ? a : left % 3 == 2 ? b : c).Send(flow);
    }
  }
  Epoch merged(setup);
  for (Lab* lab : {&one, &a, &b, &c}) ASSERT_TRUE(lab->meter.Finish(kEpoch / 2));
  for (Lab* lab : {&a, &b, &c}) ASSERT_TRUE(merged.Merge(*lab->meter.Closed()));
  for (size_t level = 0; level < setup.levels; ++level) {
    const auto& whole = one.meter.Closed()->counters[0].levels()[level].known;
    const auto& sum = merged.counters[0].levels()[level].known;
    EXPECT_TRUE(sum.complete());
    ASSERT_EQ(sum.flows().size(), whole.flows().size());
    for (const KnownFlows::Flow& flow : whole.flows()) {
      const KnownFlows::Flow* const found = sum.Find(flow.hash);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->count, flow.count);
      EXPECT_EQ(found->bytes, flow.bytes);
      EXPECT_EQ(found->samples, flow.samples);
      EXPECT_EQ(found->samples, setup.rows * (test::NumberOf(flow.key) + 1));
      EXPECT_EQ(found->whole, 1u);
    }
  }
}

TEST(Merge, AddsWhatAddsUpAndKeepsTheWorstOfTheRest) {
  const Choice setup = Small();
  const auto epoch = [&](uint64_t number, uint64_t start, uint64_t end, Traffic total,
                         uint64_t exact_pkts, int64_t other, uint32_t longest, double least,
                         double last) {
    auto made = std::make_unique<Epoch>(setup);
    made->number = number;
    made->start_cycles = start;
    made->end_cycles = end;
    made->total = total;
    made->exact_pkts = exact_pkts;
    made->other = other;
    made->longest_bytes = longest;
    made->least_probability = least;
    made->last_probability = last;
    return made;
  };
  // Each of the three epochs has the extreme value of some field.
  const auto a = epoch(4, 100, 180, {10, 1000}, 3, 7, 1514, 0.5, 1.0);
  const auto b = epoch(3, 90, 170, {20, 3000}, 4, 8, 60, 0.25, 0.25);
  const auto c = epoch(5, 110, 190, {30, 5000}, 5, 9, 9000, 1.0, 0.5);
  const Epoch* const orders[][3] = {
      {a.get(), b.get(), c.get()}, {c.get(), a.get(), b.get()}, {b.get(), c.get(), a.get()}};
  for (const auto& [first, second, third] : orders) {
    Epoch merged(setup);
    merged.workers = 0;
    merged.number = first->number;
    merged.start_cycles = first->start_cycles;
    for (const Epoch* const each : {first, second, third}) ASSERT_TRUE(merged.Merge(*each));
    EXPECT_EQ(merged.workers, 3u);
    EXPECT_EQ(merged.number, 3u);
    EXPECT_EQ(merged.start_cycles, 90u);
    EXPECT_EQ(merged.end_cycles, 190u);
    EXPECT_EQ(merged.total, (Traffic{60, 9000}));
    EXPECT_EQ(merged.exact_pkts, 12u);
    EXPECT_EQ(merged.other, 24);
    EXPECT_EQ(merged.longest_bytes, 9000u);
    EXPECT_EQ(merged.least_probability, 0.25);
    EXPECT_EQ(merged.last_probability, 0.25);
  }
}

TEST(Merge, OfDifferentSetupsIsRefused) {
  Choice setup = Small();
  Lab lab(setup);
  ASSERT_TRUE(lab.meter.Finish(1));
  for (const auto& change : {+[](Choice& s) { s.seed = 2; }, +[](Choice& s) { s.columns *= 2; },
                             +[](Choice& s) { s.rows = 5; }}) {
    Choice other = setup;
    change(other);
    Epoch epoch(other);
    EXPECT_FALSE(epoch.Merge(*lab.meter.Closed()));
    EXPECT_EQ(epoch.total.pkts, 0u);
    Analyst analyst(other, kCyclesPerSecond);
    const Epoch* const closed = lab.meter.Closed();
    EXPECT_FALSE(analyst.Report({&closed, 1}).has_value());
  }
  Analyst analyst(setup, kCyclesPerSecond);
  EXPECT_FALSE(analyst.Report({}).has_value());
}

}  // namespace
}  // namespace sluice::engine::telemetry
