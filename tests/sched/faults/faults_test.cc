// SPDX-License-Identifier: BSD-3-Clause
//
// Applies seeded random moves to the complete composition of kernel, host, channel, agent and
// policy, in which tasks, CPUs, agents and the window between host and agents change or fail. After
// each move, checks that no task is lost or on two CPUs, and that no task runs after its end, on a
// forbidden CPU, or while it is blocked. The argument multiplies the number of moves.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "engine/sched/policies/all.h"
#include "offload/swap_host.h"
#include "offload/swap_nic.h"
#include "offload/wave_host.h"
#include "offload/wave_nic.h"
#include "world.h"

namespace sluice::engine::sched {
namespace {

uint64_t g_times = 1;

enum class Kind { kWave, kSwap };

struct Total {
  WorldCounts counts;
  std::array<uint64_t, kStatuses> statuses{};
  uint64_t expired = 0;
  uint64_t prestage_hits = 0;
  uint64_t prestage_stale = 0;
  uint64_t local_choices = 0;

  void Add(const WorldCounts& more) {
    counts.steps += more.steps;
    counts.ran += more.ran;
    counts.agent_deaths += more.agent_deaths;
    counts.freezes += more.freezes;
    counts.window_resets += more.window_resets;
    counts.overflows += more.overflows;
    for (int i = 0; i < kStatuses; ++i) statuses[i] += more.host.statuses[i];
    expired += more.host.watchdog_expired;
    prestage_hits += more.host.prestage_hits;
    prestage_stale += more.host.prestage_stale;
    local_choices += more.host.local_choices;
  }
  uint64_t Of(Status status) const {
    return statuses[static_cast<uint32_t>(status) - static_cast<uint32_t>(Status::kComplete)];
  }
  void Print() const {
    printf(
        "%lu steps, %lu switches to a task, %lu deaths and %lu freezes of agents, %lu expiries, "
        "%lu resets of the window, %lu overflows, %lu choices without an agent, "
        "prestaged %lu hits %lu stale; statuses:",
        counts.steps, counts.ran, counts.agent_deaths, counts.freezes, expired,
        counts.window_resets, counts.overflows, local_choices, prestage_hits, prestage_stale);
    for (const uint64_t status : statuses) printf(" %lu", status);
    printf("\n");
  }
};

template <typename W>
void RunWorld(W& world, uint64_t steps, Total& total) {
  for (uint64_t i = 0; i < steps; ++i) {
    if (const char* wrong = world.Step()) FAIL() << wrong << " after step " << i;
  }
  if (const char* wrong = world.Finish()) FAIL() << wrong << " at the end";
  total.Add(world.counts());
}

void RunAll(Kind kind, bool agent_faults, bool window_faults, Total& total) {
  constexpr uint64_t kSteps = 2500;
  constexpr uint64_t kSeeds = 10;
  for (const auto& name : kPolicyNames) {
    for (const bool prestage : {false, true}) {
      for (uint64_t seed = 1; seed <= kSeeds * g_times; ++seed) {
        SCOPED_TRACE(std::string(name) + (prestage ? ", prestaging" : "") + ", seed " +
                     std::to_string(seed));
        const WorldOptions options{.seed = seed * 7919,
                                   .cpus = static_cast<CpuId>(1 + seed % 4),
                                   .prestage = prestage,
                                   .agent_faults = agent_faults,
                                   .window_faults = window_faults};
        VisitPolicy(name, {.cpus = options.cpus}, [&](auto policy) {
          using P = decltype(policy);
          using offload::SwapHost, offload::SwapNic, offload::WaveHost, offload::WaveNic;
          if (kind == Kind::kWave) {
            World<WaveHost<FaultyWindow>, WaveNic<FaultyWindow>, offload::WaveLayout, P> world(
                policy, options);
            RunWorld(world, kSteps, total);
          } else {
            World<SwapHost<FaultyWindow>, SwapNic<FaultyWindow>, offload::SwapLayout, P> world(
                policy, options);
            RunWorld(world, kSteps, total);
          }
        });
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
  total.Print();
  // The test is meaningful only if these events occurred.
  EXPECT_GT(total.counts.ran, total.counts.steps / 100);
  EXPECT_GT(total.Of(Status::kComplete), 1000u);
  EXPECT_GT(total.prestage_hits, 100u);
  EXPECT_GT(total.Of(Status::kTargetStale), 10u);
}

class Faults : public testing::TestWithParam<Kind> {};

TEST_P(Faults, NoTaskIsLostOrDoubledWhateverTasksAndCpusDo) {
  Total total;
  RunAll(GetParam(), false, false, total);
  EXPECT_GT(total.counts.overflows, 0u);
}

TEST_P(Faults, NoTaskIsLostOrDoubledWhenAgentsFreezeAndDieAndAreReplaced) {
  Total total;
  RunAll(GetParam(), true, false, total);
  EXPECT_GT(total.counts.agent_deaths, 100u);
  EXPECT_GT(total.counts.freezes, 50u);
  EXPECT_GT(total.expired, 10u);
  EXPECT_GT(total.local_choices, 100u);
}

TEST_P(Faults, NoTaskIsLostOrDoubledWhateverTheWindowReads) {
  Total total;
  RunAll(GetParam(), true, true, total);
  EXPECT_GT(total.counts.window_resets, 100u);
}

INSTANTIATE_TEST_SUITE_P(Over, Faults, testing::Values(Kind::kWave, Kind::kSwap),
                         [](const auto& info) {
                           return info.param == Kind::kWave ? "Wave" : "Swaps";
                         });

}  // namespace
}  // namespace sluice::engine::sched

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) sluice::engine::sched::g_times = std::strtoull(argv[1], nullptr, 10);
  return RUN_ALL_TESTS();
}
