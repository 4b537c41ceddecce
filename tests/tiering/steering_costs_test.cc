// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the host CPU time that steering on the NIC saves per RPC, against the table of costs.
#include <gtest/gtest.h>

#include <cstdio>

#include "simulation/steering.h"

namespace sluice::simulation {
namespace {

using namespace fabric::literals;

TEST(SteeringCosts, TheHostIsSparedTheDispatchersTwoLinesAndItsDecision) {
  fabric::Costs costs;
  costs.host_cached_line = 50_ns;
  const SteeringCosts steering = SteeringOf(costs, 300_ns);
  EXPECT_EQ(steering.dispatcher, 400_ns);
  EXPECT_EQ(steering.worker_local, steering.worker_nic) << "a worker reads two lines either way";
  EXPECT_EQ(steering.Removed(), 400_ns);
  // 0.4 us for each of 5 million RPCs per second are 2 s of CPU time per second.
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
