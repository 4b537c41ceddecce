// SPDX-License-Identifier: BSD-3-Clause
//
// Tests services on shared cores in virtual time: the latency of a single call (computed from the
// costs), the conservation of calls, and the effects of more processes than cores.
#include "simulation/rpc/serving.h"

#include <gtest/gtest.h>

#include <utility>

namespace sluice::simulation {
namespace {

using namespace fabric::literals;  // NOLINT
using enum ServingHost;

ServingParameters Parameters(ServingHost host, uint32_t cores, uint32_t services) {
  return {.host = host,
          .costs = {.interconnect_rtt = 800_ns,
                    .pcie_oneway = 379_ns,
                    .interrupt = 1600_ns,
                    .host_line = 40_ns,
                    .store = 50_ns,
                    .decode = 100_ns,
                    .jump = 20_ns,
                    .switch_process = 1200_ns,
                    .kernel_call = 4_us,
                    .reallocate = 5_us,
                    .slice = 3000_us},
          .cores = cores,
          .services = services,
          .calls = 200};
}

TEST(Serving, ACallByItselfTakesTheStepsOfItsHost) {
  const std::pair<ServingHost, fabric::Picoseconds> kCases[] = {
      // The NIC decodes the call. This is followed by half a round trip to the core, the function,
      // and half a round trip for the core's next load. Finally, the NIC reads the reply from the
      // core's cache, which takes a round trip.
      {kCoherent, 100_ns + 400_ns + 20_ns + 400_ns + 800_ns},
      // The frame crosses the link upstream. The core reads, works and rings the doorbell, which
      // crosses the link downstream. The NIC then reads the descriptor and the reply.
      {kPolling, 379_ns + 40_ns + 100_ns + 20_ns + 50_ns + 5 * 379_ns},
      // kKernel: an interrupt, the switch to the process and the socket's work precede the
      // function; the NIC then reads the descriptor and the reply. kReallocating: the frame crosses
      // the link upstream and the dedicated core sees it. A core is assigned, and then works like a
      // polling process.
      {kReallocating, 379_ns + 40_ns + 5_us + 40_ns + 100_ns + 20_ns + 50_ns + 5 * 379_ns},
      {kKernel, 1600_ns + 1200_ns + 4_us + 100_ns + 20_ns + 5 * 379_ns},
  };
  for (const auto& [host, expected] : kCases) {
    ServingParameters alone = Parameters(host, 1, 1);
    alone.load = 0.0001;
    const ServingResults results = PlayServing(alone);
    ASSERT_EQ(results.latencies.size(), 100u) << NameOf(host);
    EXPECT_EQ(results.latencies.front(), expected) << NameOf(host);
    EXPECT_EQ(results.latencies.back(), expected) << NameOf(host);
  }
}

TEST(Serving, APairOfLinesCarriesACallEveryTwoRoundTrips) {
  struct Case {
    uint32_t pairs;
    /// The cost of the jump to the handler, and the expected time between two calls.
    fabric::Picoseconds jump, each;
  };
  const Case kCases[] = {
      {1, 20_ns, 1620_ns},
      {4, 20_ns, 405_ns},
      {32, 20_ns, 1620_ns / 32},
      {8, 1000_ns, 1000_ns},  // The core is the bottleneck.
  };
  for (const Case& test : kCases) {
    ServingParameters busy = Parameters(kCoherent, 1, 1);
    busy.pairs = test.pairs;
    busy.costs.jump = test.jump;
    busy.calls = 8000;
    busy.load = 2 * 1600e3 / static_cast<double>(test.each);
    EXPECT_NEAR(PlayServing(busy).calls_per_second, 1e12 / static_cast<double>(test.each),
                2e10 / static_cast<double>(test.each))
        << test.pairs;
    busy.load = 0.0001;
    EXPECT_EQ(PlayServing(busy).Percentile(0.5), 1700_ns + test.jump)
        << "more do not make it slower";
  }
}

TEST(Serving, EveryCallIsAnsweredOrDropped) {
  for (const ServingHost host : kServingHosts) {
    for (const double load : {0.2, 3.0}) {
      ServingParameters busy = Parameters(host, 2, 9);
      busy.handler = 5_us;
      busy.load = load;
      busy.calls = 4000;
      busy.queue = 8;
      const ServingResults results = PlayServing(busy);
      EXPECT_LE(results.latencies.size() + results.dropped, 4000u) << NameOf(host);
      EXPECT_GE(results.latencies.size() + results.dropped, 2000u) << NameOf(host);
      if (load > 1) {
        EXPECT_GT(results.dropped, 0u) << NameOf(host);
      }
    }
  }
}

TEST(Serving, AProcessThatPollsWaitsForItsTurn) {
  ServingParameters shared = Parameters(kPolling, 1, 2);
  shared.handler = 1_us;
  shared.load = 0.02;
  shared.calls = 4000;
  // Half of the calls arrive at a random time in the other process's slice of 3 ms.
  EXPECT_GT(PlayServing(shared).Percentile(0.9), 2000_us);
  EXPECT_GT(PlayServing(shared).idle_looks, 100);
  shared.services = 1;
  EXPECT_LT(PlayServing(shared).Percentile(0.9), 10_us);
}

TEST(Serving, ANicThatKnowsWhoWaitsSwitchesWhereCallsAre) {
  for (const uint32_t services : {1u, 2u, 64u}) {
    ServingParameters shared = Parameters(kCoherent, 1, services);
    shared.handler = 1_us;
    shared.load = 0.02;
    shared.calls = 4000;
    const ServingResults results = PlayServing(shared);
    EXPECT_EQ(results.latencies.size(), 2000u);
    // A switch costs 1.2 us plus two one-way transfers. Calls do not wait for the end of a slice.
    EXPECT_LT(results.Percentile(0.9), 20_us) << services;
    EXPECT_LT(results.idle_looks, 1) << services;
  }
}

TEST(Serving, TheSameParametersGiveTheSameResults) {
  for (const ServingHost host : kServingHosts) {
    ServingParameters parameters = Parameters(host, 4, 16);
    parameters.handler = 5_us;
    parameters.hot_for = 100_us;
    const ServingResults first = PlayServing(parameters), second = PlayServing(parameters);
    EXPECT_EQ(first.latencies, second.latencies);
    parameters.seed = 2;
    EXPECT_NE(first.latencies, PlayServing(parameters).latencies);
  }
}

}  // namespace
}  // namespace sluice::simulation
