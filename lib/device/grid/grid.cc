// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>

#include <chrono>

#include "device/grid/memory.h"

namespace sluice::device::grid {

uint64_t NowNs() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

uint64_t Cycles() { return NowNs(); }

void Relax() { sched_yield(); }

}  // namespace sluice::device::grid
