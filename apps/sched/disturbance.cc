// SPDX-License-Identifier: BSD-3-Clause
#include "disturbance.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

namespace sluice::sched {

Disturbance DisturbanceSoFar() {
  Disturbance now;
  if (std::FILE* const stat = std::fopen("/proc/stat", "r")) {
    uint64_t stolen = 0;  // The eighth number of the first line of /proc/stat (proc(5)), in ticks.
    if (std::fscanf(stat, "cpu %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &stolen) == 1)
      now.stolen_ms = stolen * 1000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
    std::fclose(stat);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  now.switches = static_cast<uint64_t>(usage.ru_nivcsw);
  return now;
}

}  // namespace sluice::sched
