// SPDX-License-Identifier: BSD-3-Clause
//
// The cycle counter, which a core can read in a few cycles, and the pause between two polls of a
// word that another core will store.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#elif !defined(__aarch64__)
#error "no cycle counter for this architecture: define it here"
#endif

namespace sluice::cpu {

/// Returns the time stamp counter on x86. On Arm, returns the virtual counter, which may tick at 1
/// GHz or at 25 MHz. The result is the same as that of DPDK's rte_rdtsc; rte_get_tsc_hz() returns
/// the rate.
inline uint64_t Cycles() {
#ifdef __x86_64__
  return __rdtsc();
#else
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
}

/// Yields the core's resources to its other hardware thread for a time chosen by the processor.
inline void Pause() {
#ifdef __x86_64__
  _mm_pause();
#else
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace sluice::cpu
