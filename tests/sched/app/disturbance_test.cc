// SPDX-License-Identifier: BSD-3-Clause
#include "disturbance.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "figures.h"

namespace sluice::sched {
namespace {

TEST(Disturbance, StolenTimeIsTheEighthNumberOfTheMachine) {
  const auto of_the_machine = [] {
    std::ifstream file("/proc/stat");
    std::string cpu;
    uint64_t ticks = 0;
    file >> cpu;
    for (int i = 0; i < 8; ++i) file >> ticks;
    return 10 * ticks;  // USER_HZ is 100 on all platforms that DPDK supports.
  };
  const uint64_t before = of_the_machine();
  const uint64_t stolen = DisturbanceSoFar().stolen_ms;
  EXPECT_LE(before, stolen);
  EXPECT_LE(stolen, of_the_machine());
}

TEST(Disturbance, ThreadsOnOneProcessorMakeWayForEachOther) {
  const Disturbance before = DisturbanceSoFar();
  std::atomic<bool> stop = false;
  const auto spin = [&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    static const cpu_set_t shared = one;
    sched_setaffinity(0, sizeof(shared), &shared);
    while (!stop) {
    }
  };
  std::thread a(spin), b(spin);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while ((DisturbanceSoFar() - before).switches == 0 &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  stop = true;
  a.join();
  b.join();
  EXPECT_GT((DisturbanceSoFar() - before).switches, 0u);
}

TEST(Disturbance, StolenTimeOrTwentySwitchesASecondDisturb) {
  const struct {
    double seconds;
    Disturbance disturbance;
    bool disturbed;
  } cases[] = {{1, {0, 0}, false}, {1, {0, 20}, false},   {1, {0, 21}, true}, {2, {0, 40}, false},
               {2, {0, 41}, true}, {0.1, {0, 20}, false}, {1, {10, 0}, true}};
  for (const auto& one : cases) {
    Result result;
    result.seconds = one.seconds;
    result.disturbance = one.disturbance;
    EXPECT_EQ(result.IsDisturbed(), one.disturbed)
        << one.seconds << " s, " << one.disturbance.stolen_ms << " ms, " << one.disturbance.switches
        << " switches";
  }
}

TEST(Disturbance, TheLessDisturbedLostLessTime) {
  EXPECT_LT((Disturbance{0, 99}), (Disturbance{10, 0}));
  EXPECT_LT((Disturbance{10, 1}), (Disturbance{10, 2}));
}

}  // namespace
}  // namespace sluice::sched
