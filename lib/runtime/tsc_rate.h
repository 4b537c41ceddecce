// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the TSC's rate for paced sending. If the processor does not report the rate, DPDK rounds
// it to 10 MHz (eal_timer.c), which can be 0.2 % off at 2.5 GHz.
#pragma once

#include <cstdint>

namespace sluice::runtime {

/// Returns the number of TSC cycles per second of CLOCK_MONOTONIC, measured from the program's
/// start to this call. The error is about 1e-5. Sleeps until the interval is at least 50 ms;
/// starting EAL takes longer than that. May be called by any thread.
uint64_t MeasureTscHz();

}  // namespace sluice::runtime
