// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that compete for one CPU.
#pragma once

#include <sched.h>

/// Returns the first CPU that the calling thread may run on, alone.
inline cpu_set_t FirstAllowedCpu() {
  cpu_set_t allowed, first;
  sched_getaffinity(0, sizeof allowed, &allowed);
  CPU_ZERO(&first);
  for (int cpu = 0; CPU_COUNT(&first) == 0; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &first);
  return first;
}
