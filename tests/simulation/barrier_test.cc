// SPDX-License-Identifier: BSD-3-Clause
//
// Tests barriers in virtual time. A barrier that uses swaps among N parties must neither lose nor
// split a round, under faults that make a barrier with timeouts do both.
#include "simulation/barrier/barrier.h"

#include <gtest/gtest.h>

namespace sluice::simulation {
namespace {

using fabric::Picoseconds;

BarrierParameters Faulty(uint32_t parties, uint64_t seed) {
  BarrierParameters parameters;
  parameters.parties = parties;
  parameters.rounds = 1000;
  parameters.pauses = {.per_second = 50};
  parameters.kills_per_second = 10;
  parameters.restart = 5'000'000'000;
  parameters.seed = seed;
  return parameters;
}

TEST(Barrier, TwoPartiesNeedOneRoundTrip) {
  BarrierParameters parameters;
  parameters.parties = 2;
  parameters.work = 2;  // Two picoseconds, so that a round consists only of the exchange.
  const BarrierResults results = RunBarrier(parameters);
  EXPECT_EQ(results.committed, parameters.rounds);
  // An offer and an answer each cross the link once. Both processors also read and store lines.
  const fabric::Costs& costs = parameters.costs;
  const Picoseconds link = 2 * costs.pcie_oneway;
  const Picoseconds processors = costs.mmio_write_line + 3 * costs.nic_cached_line +
                                 costs.nic_write_line + 3 * costs.host_cached_line;
  const Picoseconds median = results.times[results.times.size() / 2];
  EXPECT_GE(median, link);
  EXPECT_LE(median, link + processors);
}

TEST(Barrier, TheSwapLosesAndSplitsNoRound) {
  for (const uint32_t parties : {2u, 16u, 100u}) {
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      const BarrierParameters parameters = Faulty(parties, seed);
      const BarrierResults results = RunBarrier(parameters);
      EXPECT_EQ(results.committed, parameters.rounds);
      EXPECT_EQ(results.lost + results.split, 0u);
      EXPECT_GT(results.kills, 0u);
      EXPECT_GT(results.pauses, 0u);
    }
  }
}

TEST(Barrier, TimeoutsLoseAndSplitRounds) {
  uint64_t lost = 0, split = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    BarrierParameters parameters = Faulty(16, seed);
    parameters.timeout = 300'000'000;
    const BarrierResults results = RunBarrier(parameters);
    EXPECT_EQ(results.committed + results.lost + results.split, parameters.rounds);
    lost += results.lost;
    split += results.split;
  }
  EXPECT_GT(lost, 0u);
  EXPECT_GT(split, 0u);
}

TEST(Barrier, EqualParametersGiveEqualResults) {
  const BarrierResults one = RunBarrier(Faulty(8, 7)), other = RunBarrier(Faulty(8, 7));
  EXPECT_EQ(one.times, other.times);
  EXPECT_NE(one.times, RunBarrier(Faulty(8, 8)).times);
}

TEST(Barrier, PausesFollowTheirDistribution) {
  const Pauses pauses{.per_second = 20};
  constexpr int kDraws = 100'000;
  for (const Picoseconds window :
       {5'000'000ull, 100'000'000ull, 20'000'000'000ull, 30'000'000'000ull}) {
    int above = 0;
    for (int i = 0; i < kDraws; ++i) above += pauses.Length((i + 0.5) / kDraws) > window;
    EXPECT_NEAR(20.0 * above / kDraws, pauses.PerSecondAbove(window), 0.001) << window;
  }
}

TEST(Barrier, ThousandParties) {
  BarrierParameters parameters;
  parameters.parties = 1024;
  parameters.rounds = 20;
  EXPECT_EQ(RunBarrier(parameters).committed, parameters.rounds);
}

}  // namespace
}  // namespace sluice::simulation
