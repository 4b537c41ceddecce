// SPDX-License-Identifier: BSD-3-Clause
//
// Tests how much host CPU time per RPC is saved by steering on the NIC, against the table of costs.
#include <gtest/gtest.h>

#include <cstdio>

#include "fabric/costs.h"

namespace sluice::simulation {
namespace {

using namespace fabric::literals;

// Processor time per RPC that a host saves if the NIC chooses the core, computed operation by
// operation from the table of costs. It is not a measurement, and it is not comparable to the 8
// cores in Wave's abstract, which include the rest of Wave's RPC stack.
struct SteeringCosts {
  fabric::Picoseconds dispatcher = 0;  //< Time per RPC on the host's dedicated dispatcher core.
  // Time that a host worker needs to get an RPC from a dispatcher.
  fabric::Picoseconds worker_local = 0;
  // Time that a host worker needs to get an RPC from the NIC.
  fabric::Picoseconds worker_nic = 0;

  constexpr fabric::Picoseconds Removed() const { return dispatcher + worker_local - worker_nic; }
  // Returns the number of cores saved at this rate.
  constexpr double Cores(double rpcs_per_second) const {
    return static_cast<double>(Removed()) * 1e-12 * rpcs_per_second;
  }
};

// Returns the costs of steering. `decision` is the time that a host processor takes to parse a
// header and choose a core. If the NIC chooses the core, its agent spends Costs::agent_decision
// instead.
// - dispatcher: reads the request's first line (DDIO put it into the cache), decides, and acquires
//   the line of the worker's mailbox to write it: two lines and the decision.
// - worker, after a dispatcher: gets the mailbox's line, and the request's from the dispatcher.
// - worker, after the NIC: gets the decision's line, which the NIC pushed, and the request's.
constexpr SteeringCosts SteeringOf(const fabric::Costs& costs, fabric::Picoseconds decision) {
  return {.dispatcher = 2 * costs.host_cached_line + decision,
          .worker_local = 2 * costs.host_cached_line,
          .worker_nic = 2 * costs.host_cached_line};
}

TEST(SteeringCosts, TheHostIsSparedTheDispatchersTwoLinesAndItsDecision) {
  fabric::Costs costs;
  costs.host_cached_line = 50_ns;
  const SteeringCosts steering = SteeringOf(costs, 300_ns);
  EXPECT_EQ(steering.dispatcher, 400_ns);
  EXPECT_EQ(steering.worker_local, steering.worker_nic) << "a worker reads two lines either way";
  EXPECT_EQ(steering.Removed(), 400_ns);
  // 0.4 us for each of 5 million RPCs per second is 2 s of CPU time per second.
  EXPECT_DOUBLE_EQ(steering.Cores(5e6), 2);
}

TEST(SteeringCosts, FollowTheirInputs) {
  fabric::Costs costs;
  const fabric::Picoseconds removed = SteeringOf(costs, costs.agent_decision).Removed();
  std::printf("W12: %.0f ns of host CPU per RPC; 8 cores at %.1f million RPCs/s (computed)\n",
              fabric::ToNanoseconds(removed), 8e6 / static_cast<double>(removed));
  EXPECT_EQ(SteeringOf(costs, costs.agent_decision + 100_ns).Removed(), removed + 100_ns);
  costs.host_cached_line += 10_ns;
  EXPECT_EQ(SteeringOf(costs, costs.agent_decision).Removed(), removed + 20_ns);
}

}  // namespace
}  // namespace sluice::simulation
