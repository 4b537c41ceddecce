// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that the calls of all services are delivered when the dispatcher uses any of the policies
// in lib/engine/sched.
#include "placement.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>

#include "device/rpc/dispatcher.h"
#include "engine/sched/policies/all.h"

namespace sluice::rpc_app {
namespace {

using device::rpc::Action;
using device::rpc::CoreId;
using device::rpc::Dispatcher;
using device::rpc::ProcessId;
using Kind = Action::Kind;

constexpr uint32_t kCores = 3;
constexpr uint32_t kProcesses = 5;

class EveryPolicy : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryPolicy, GivesEveryServiceItsCores) {
  const auto placement = MakePlacement(GetParam(), kCores, 1000);
  ASSERT_NE(placement, nullptr);
  Dispatcher dispatcher({.cores = kCores, .queue_capacity = 8}, *placement);
  for (ProcessId id = 0; id < kProcesses; ++id) {
    dispatcher.AddProcess(id, 1 + id % kCores);
    dispatcher.Ready(id, 0);
  }
  // The next action of each core: to load the endpoint of the kernel or of a process.
  enum class Next { kKernel, kUser, kNothing };
  std::array<Next, kCores> next{};
  std::array<ProcessId, kCores> process{};
  std::array<uint64_t, kProcesses> answered{};
  uint64_t arrived = 0;
  uint64_t now = 0;
  const auto take = [&](Dispatcher::Actions actions) {
    for (const Action& action : actions) {
      switch (action.kind) {
        case Kind::kRequest:
          next[action.core] = Next::kUser;
          break;
        case Kind::kSwitch:
          next[action.core] = Next::kUser;
          process[action.core] = action.process;
          break;
        case Kind::kYieldNow:
          next[action.core] = Next::kKernel;
          break;
        case Kind::kAnswered:
          ++answered[action.process];
          break;
        default:
          break;
      }
    }
  };
  const auto move = [&](CoreId core) {
    const Next what = std::exchange(next[core], Next::kNothing);
    if (what == Next::kKernel) take(dispatcher.KernelLoads(core, now));
    if (what == Next::kUser) take(dispatcher.UserLoads(core, process[core], now));
  };
  std::mt19937 random(1);
  for (uint32_t i = 0; i < 20'000; ++i) {
    now += 100;
    if (random() % 3 == 0) {
      take(dispatcher.Arrive(static_cast<ProcessId>(random() % kProcesses), i, now));
      ++arrived;
    }
    move(static_cast<CoreId>(random() % kCores));
    if (i % 10 == 0) take(dispatcher.Tick(now));
  }
  // No more calls arrive. All waiting calls must be answered.
  for (uint32_t i = 0; i < 2'000; ++i) {
    now += 100;
    move(static_cast<CoreId>(i % kCores));
    take(dispatcher.Tick(now));
  }
  uint64_t total = 0;
  for (ProcessId id = 0; id < kProcesses; ++id) {
    EXPECT_EQ(dispatcher.queued(id), 0u) << "process " << id;
    EXPECT_GT(answered[id], 500u) << "process " << id;
    total += answered[id];
  }
  EXPECT_EQ(total + dispatcher.counter(device::rpc::DispatchCounter::kQueueFull), arrived);
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy, testing::ValuesIn(engine::sched::kPolicyNames),
                         [](const auto& test) { return std::string(test.param); });

TEST(Placement, APolicyThatThereIsNotIsNone) {
  EXPECT_EQ(MakePlacement("coin_toss", 1, 0), nullptr);
}

}  // namespace
}  // namespace sluice::rpc_app
