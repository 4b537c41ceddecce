// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/tsc_rate.h"

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace sluice::runtime {
namespace {

TEST(TscRate, IsThatOfTheMonotonicClock) {
  // Uses the smallest deviation in several attempts, because the thread may be preempted between
  // the two clock readings.
  double least = 1;
  for (int i = 0; i < 10 && least >= 1e-4; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const uint64_t tsc = rte_get_tsc_cycles();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const uint64_t cycles = rte_get_tsc_cycles() - tsc;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, std::abs(static_cast<double>(MeasureTscHz()) * took.count() /
                                         static_cast<double>(cycles) -
                                     1));
  }
  EXPECT_LT(least, 1e-4);
}

}  // namespace
}  // namespace sluice::runtime
