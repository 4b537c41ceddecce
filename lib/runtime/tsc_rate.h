// SPDX-License-Identifier: BSD-3-Clause
//
// How fast the TSC is, for who paces by it: DPDK's own figure, where the processor does not tell
// it, is rounded to 10 MHz (eal_timer.c), up to 0.2 % off at 2.5 GHz.
#pragma once

#include <cstdint>

namespace sluice::runtime {

/// Cycles a second by CLOCK_MONOTONIC, from the program's start to this call, within some 1e-5.
/// Sleeps until 50 ms have passed between them; EAL's start takes longer. Any thread.
uint64_t MeasureTscHz();

}  // namespace sluice::runtime
