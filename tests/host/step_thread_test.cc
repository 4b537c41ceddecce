// SPDX-License-Identifier: BSD-3-Clause
#include "host/step_thread.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace sluice::host {
namespace {

template <typename Idle>
class StepThreads : public testing::Test {};
using Idles = testing::Types<SleepingIdle, YieldingIdle>;
TYPED_TEST_SUITE(StepThreads, Idles);

TYPED_TEST(StepThreads, RunCommandsBetweenSteps) {
  uint64_t steps = 0;  // Only the stepping thread accesses it.
  bool in_step = false;
  pid_t stepper = 0;
  {
    StepThread<TypeParam> thread([&] {
      in_step = true;
      ++steps;
      in_step = false;
      return steps % 2 == 0;
    });
    uint64_t before = 0;
    for (int i = 0; i < 1'000; ++i) {
      thread.Do([&] {
        EXPECT_FALSE(in_step);
        EXPECT_GT(steps, before);  // The thread steps between two commands.
        before = steps;
        stepper = gettid();
      });
    }
    EXPECT_EQ(stepper, thread.tid());
    EXPECT_GT(thread.CpuNs(), 0);
  }
  EXPECT_NE(stepper, gettid());
}

}  // namespace
}  // namespace sluice::host
