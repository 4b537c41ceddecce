// SPDX-License-Identifier: BSD-3-Clause
#include "cpu/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace sluice::cpu {
namespace {

TEST(Clock, GoesOnWhileAThreadSleepsAndNeverBack) {
  const uint64_t before = Cycles();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const uint64_t after = Cycles();
  // All counters that DPDK uses tick at 1 MHz or faster.
  EXPECT_GT(after - before, 2'000u);
  uint64_t last = after;
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t now = Cycles();
    ASSERT_GE(now, last);
    last = now;
    Pause();
  }
}

}  // namespace
}  // namespace sluice::cpu
