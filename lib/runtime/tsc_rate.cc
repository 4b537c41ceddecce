// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/tsc_rate.h"

#include <rte_cycles.h>
#include <time.h>

#include <chrono>
#include <thread>

namespace sluice::runtime {

namespace {

constexpr int64_t kLeastNs = 50'000'000;
constexpr int kTries = 16;

struct Reading {
  uint64_t tsc;
  int64_t ns;
};

// Reads both clocks kTries times. Returns the reading with the shortest duration, because an
// interruption lengthens a reading.
Reading ReadBoth() {
  Reading best{};
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    timespec now{};
    const uint64_t before = rte_get_tsc_cycles();
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t took = rte_get_tsc_cycles() - before;
    if (took >= least) continue;
    least = took;
    best = {before + took / 2, now.tv_sec * 1'000'000'000 + now.tv_nsec};
  }
  return best;
}

const Reading kStart = ReadBoth();

}  // namespace

uint64_t MeasureTscHz() {
  Reading now = ReadBoth();
  if (now.ns - kStart.ns < kLeastNs) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLeastNs - (now.ns - kStart.ns)));
    now = ReadBoth();
  }
  return static_cast<uint64_t>(static_cast<unsigned __int128>(now.tsc - kStart.tsc) *
                               1'000'000'000 / static_cast<uint64_t>(now.ns - kStart.ns));
}

}  // namespace sluice::runtime
