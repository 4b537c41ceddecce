// SPDX-License-Identifier: BSD-3-Clause
//
// The counter that every core reads in a few cycles, and what a core does between two looks at a
// word that another one will store to.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#elif !defined(__aarch64__)
#error "say here what this processor counts time with"
#endif

namespace sluice::cpu {

/// x86: the time stamp counter. ARM: the virtual counter, which may tick at 1 GHz or at 25 MHz. The
/// same as DPDK's rte_rdtsc; rte_get_tsc_hz() has its rate.
inline uint64_t Cycles() {
#ifdef __x86_64__
  return __rdtsc();
#else
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
}

/// Leaves the core's resources to its sibling, for as long as the processor thinks right.
inline void Pause() {
#ifdef __x86_64__
  _mm_pause();
#else
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace sluice::cpu
