// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a host and its agent in virtual time: compares small systems with sums of known costs,
// checks properties of larger systems, and checks that a seed determines the result.
#include "simulation/sched/scheduling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace sluice::simulation {
namespace {

using namespace fabric::literals;  // NOLINT

std::string NameOf(const testing::TestParamInfo<Mode>& info) {
  std::string name(TraitsOf(info.param).name);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

SchedulingParameters Small(Mode mode) {
  SchedulingParameters parameters;
  parameters.mode = mode;
  parameters.cpus = 4;
  parameters.workers = 16;
  parameters.warm_up = 50;
  parameters.requests = 500;
  return parameters;
}

class EveryMode : public testing::TestWithParam<Mode> {};
INSTANTIATE_TEST_SUITE_P(Modes, EveryMode,
                         testing::Values(Mode::kUncached, Mode::kNicCached, Mode::kMapped,
                                         Mode::kPrestaged, Mode::kSwap, Mode::kStanding,
                                         Mode::kHost),
                         NameOf);

TEST_P(EveryMode, ServesEveryRequestOnceAndBreaksNoRule) {
  for (const auto policy : {PolicyKind::kFifo, PolicyKind::kShinjuku}) {
    for (const double rate : {0.0, 100'000.0}) {
      SchedulingParameters parameters = Small(GetParam());
      parameters.policy = policy;
      parameters.requests_per_second = rate;
      parameters.service = {ServiceTime::Kind::kExponential, 10'000'000};
      const SchedulingResults results = Simulate(parameters);
      EXPECT_EQ(results.violation, "");
      EXPECT_EQ(results.completed, 550u);
      EXPECT_EQ(results.latencies.size(), 500u);
      EXPECT_GE(results.arrived, results.completed);
      EXPECT_EQ(results.faults, 0u);
      EXPECT_EQ(results.overflows, 0u);
      EXPECT_GE(results.latencies.front(), 10'000u);
    }
  }
}

TEST_P(EveryMode, TasksThatEndOrChangeMeanwhileLoseNoRequest) {
  for (const auto change : {Change::kAffinity, Change::kExit}) {
    SchedulingParameters parameters = Small(GetParam());
    parameters.requests_per_second = 80'000;
    parameters.changes_per_second = 5'000;
    parameters.change = change;
    const SchedulingResults results = Simulate(parameters);
    EXPECT_EQ(results.violation, "");
    EXPECT_EQ(results.completed, 550u);
    EXPECT_GT(results.staleness.ruled, 500u);
  }
}

TEST_P(EveryMode, OneSeedOneResult) {
  SchedulingParameters parameters = Small(GetParam());
  parameters.requests_per_second = 100'000;
  parameters.changes_per_second = 5'000;
  parameters.service = {ServiceTime::Kind::kExponential, 10'000'000};
  const SchedulingResults one = Simulate(parameters);
  const SchedulingResults same = Simulate(parameters);
  EXPECT_EQ(one.latencies, same.latencies);
  EXPECT_EQ(one.host_operations, same.host_operations);
  EXPECT_EQ(one.bytes, same.bytes);
  EXPECT_EQ(one.staleness.stale, same.staleness.stale);
  parameters.seed = 2;
  EXPECT_NE(one.latencies, Simulate(parameters).latencies);
}

TEST_P(EveryMode, NothingIsStaleIfTasksThatWaitDoNotChange) {
  SchedulingParameters parameters = Small(GetParam());
  parameters.requests_per_second = 80'000;
  parameters.changes_per_second = 20'000;
  parameters.freeze = true;
  const SchedulingResults results = Simulate(parameters);
  EXPECT_EQ(results.violation, "");
  EXPECT_EQ(results.staleness.stale, 0u);
  // Deferring has a cost: tasks that requested a change had to wait for it.
  EXPECT_GT(results.deferred_changes, 0u);
  EXPECT_GT(results.deferred_time, results.deferred_changes * 379'000);
}

// A system with one CPU, one task and a fixed service time. The time between two requests is a sum
// of known costs.
SchedulingParameters OneTask(Mode mode) {
  SchedulingParameters parameters;
  parameters.mode = mode;
  parameters.cpus = 1;
  parameters.workers = 1;
  parameters.warm_up = 5;
  parameters.requests = 20;
  parameters.requests_per_second = 1000;  // Low enough that requests do not overlap.
  return parameters;
}

TEST(OneRequest, BySwapTakesTwoWaysTheAgentAndTheHost) {
  const SchedulingParameters parameters = OneTask(Mode::kSwap);
  const fabric::Costs& c = parameters.costs;
  const SchedulingResults results = Simulate(parameters);
  // The host checks whether its link is free and sends the event. The agent receives it, decides
  // and offers. The host reads the offer, switches and serves.
  const Picoseconds least = 2 * c.pcie_oneway + parameters.agent_compute + c.context_switch -
                            c.context_switch_before + parameters.service.time;
  for (const Picoseconds latency : results.latencies) {
    EXPECT_GT(latency, least);
    // Each side reads several times, and each read takes 30 or 40 ns.
    EXPECT_LT(latency, least + 1200_ns);
  }
}

TEST(OneRequest, ByWaveWaitsForTheInterruptAndTheRead) {
  const SchedulingParameters parameters = OneTask(Mode::kMapped);
  const fabric::Costs& c = parameters.costs;
  const SchedulingResults results = Simulate(parameters);
  const Picoseconds least = c.pcie_oneway + parameters.agent_compute + c.decision_to_msix_sent -
                            c.msix_send + c.MsixEndToEnd() + c.mmio_read_uncached +
                            c.context_switch - c.context_switch_before + parameters.service.time;
  for (const Picoseconds latency : results.latencies) {
    EXPECT_GT(latency, least);
    EXPECT_LT(latency, least + 900_ns);
  }
}

TEST(OneRequest, ByWaveUncachedReadsEveryWord) {
  const SchedulingParameters parameters = OneTask(Mode::kUncached);
  const fabric::Costs& c = parameters.costs;
  const SchedulingResults results = Simulate(parameters);
  // The host reads word 0, then the eight words of the line.
  const Picoseconds reads = 9 * c.mmio_read_uncached;
  const Picoseconds least = c.pcie_oneway + parameters.agent_compute + c.MsixEndToEnd() + reads +
                            c.context_switch - c.context_switch_before + parameters.service.time;
  for (const Picoseconds latency : results.latencies) {
    EXPECT_GT(latency, least);
    // The bound includes the stores of the event and the outcome, the time until the interrupt, and
    // the NIC's accesses: it reads an event, stores a decision, and polls several lines.
    EXPECT_LT(latency, least + 16 * c.mmio_write_uncached + c.decision_to_msix_sent +
                           (2 * 8 + 14) * c.nic_memory);
  }
}

// --- Switches of a CPU that always has work.

SchedulingResults Busy(Mode mode) {
  SchedulingParameters parameters;
  parameters.mode = mode;
  return Simulate(parameters);
}

TEST(Switches, EachOfWavesStagesIsNoSlowerThanTheOneBefore) {
  double before = INFINITY;
  for (const Mode mode : {Mode::kUncached, Mode::kNicCached, Mode::kMapped, Mode::kPrestaged}) {
    const SchedulingResults results = Busy(mode);
    EXPECT_LE(results.OffTaskPerSwitch(), before) << TraitsOf(mode).name;
    EXPECT_GE(results.OffTaskPerSwitch(),
              static_cast<double>(SchedulingParameters().costs.context_switch));
    before = results.OffTaskPerSwitch();
  }
}

TEST(Switches, APrestagedDecisionCostsTheHostItsOwnPartAndTwoPosts) {
  const SchedulingResults results = Busy(Mode::kPrestaged);
  const fabric::Costs c;
  EXPECT_GE(results.host.prestage_hits, 2000u);
  const auto least = static_cast<double>(c.context_switch + 2 * c.mmio_write_line);
  EXPECT_GE(results.OffTaskPerSwitch(), least);
  EXPECT_LE(results.OffTaskPerSwitch(), least + 100'000);  // Reads of a cached line, 2 ns each.
}

TEST(Switches, TimeOfCpusIsEitherServiceOrBetweenTasks) {
  for (const Mode mode : {Mode::kUncached, Mode::kMapped, Mode::kPrestaged, Mode::kSwap}) {
    const SchedulingResults results = Busy(mode);
    const double per_request =
        static_cast<double>(SchedulingParameters().service.time) + results.OffTaskPerSwitch();
    EXPECT_NEAR(results.RequestsPerSecond() * per_request * 1e-12, 1, 0.002);
  }
}

// --- Stale decisions.

TEST(Staleness, FollowsFromTheWindowAndTheRateOfChange) {
  for (const Mode mode : {Mode::kMapped, Mode::kSwap}) {
    SchedulingParameters parameters = OneTask(mode);
    parameters.requests = 3000;
    parameters.requests_per_second = 20'000;
    parameters.changes_per_second = 100'000;
    const Staleness staleness = Simulate(parameters).staleness;
    ASSERT_GT(staleness.ruled, 3000u);
    EXPECT_GT(staleness.stale, 200u);
    const double deviation = std::abs(static_cast<double>(staleness.stale) - staleness.expected) /
                             std::sqrt(staleness.variance);
    EXPECT_LT(deviation, 4) << TraitsOf(mode).name << ": " << staleness.stale << " of "
                            << staleness.ruled << ", expected " << staleness.expected;
  }
}

TEST(Staleness, TheWindowOfASwapIsTheSmaller) {
  const auto window = [](Mode mode) {
    const Staleness staleness = Simulate(OneTask(mode)).staleness;
    return static_cast<double>(staleness.windows) / static_cast<double>(staleness.ruled);
  };
  EXPECT_LT(window(Mode::kSwap), window(Mode::kMapped));
  EXPECT_LT(window(Mode::kMapped), window(Mode::kUncached));
}

// --- An agent that hangs.

TEST(Watchdog, FindsAHungAgentWithinItsTimeAndATick) {
  SchedulingParameters parameters = Small(Mode::kPrestaged);
  parameters.requests_per_second = 50'000;
  parameters.agent_hangs_at = 3_us * 1000;
  parameters.requests = 3000;
  const SchedulingResults results = Simulate(parameters);
  EXPECT_EQ(results.violation, "");
  EXPECT_EQ(results.completed, 3050u);  // The kernel's local policy serves the remaining requests.
  EXPECT_EQ(results.host.watchdog_expired, 1u);
  EXPECT_GT(results.host.local_choices, 0u);
  EXPECT_GT(results.watchdog_at - parameters.agent_hangs_at, 20'000'000'000u - 1'000'000'000u);
  EXPECT_LE(results.watchdog_at - parameters.agent_hangs_at, 20'000'000'000u + 2 * parameters.tick);
}

// --- Preemption.

TEST(Policies, PreemptionKeepsLongRequestsOutOfTheWayOfShortOnes) {
  SchedulingParameters parameters = Small(Mode::kPrestaged);
  parameters.workers = 64;
  parameters.requests = 4000;
  parameters.service = {ServiceTime::Kind::kBimodal, 10'000'000, 1'000'000'000, 0.005};
  parameters.requests_per_second = 0.7 * parameters.cpus * 1e12 / parameters.service.Mean();
  const SchedulingResults fifo = Simulate(parameters);
  parameters.policy = PolicyKind::kShinjuku;
  const SchedulingResults shinjuku = Simulate(parameters);
  EXPECT_EQ(fifo.violation, "");
  EXPECT_EQ(shinjuku.violation, "");
  EXPECT_EQ(fifo.agent.preemptions, 0u);
  EXPECT_GT(shinjuku.agent.preemptions, 100u);
  EXPECT_LT(shinjuku.Percentile(0.99), fifo.Percentile(0.99));
}

}  // namespace
}  // namespace sluice::simulation
