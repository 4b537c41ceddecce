// SPDX-License-Identifier: BSD-3-Clause
//
// The state of a stand-in for the GPU driver library. The stand-in registers memory as strictly as
// the library. Its kernels do not run any blocks; they only stop on request and answer requests for
// counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "device/grid/card.h"

namespace sluice::device::grid {

struct FakeCuda {
  std::mutex mutex;
  int processors = 64;
  int devices = 1;
  std::map<uintptr_t, size_t> registered;
  uintptr_t refused = 0;        ///< A byte that cannot be registered; 0: none.
  uint64_t pointer_offset = 0;  ///< Added to the addresses at which the card sees host memory.
  uint32_t contexts = 0;        ///< References to contexts.
  std::set<Card*> running;      ///< Cards whose blocks run.

  /// Returns whether a registration contains the byte.
  bool Has(const void* at) {
    const std::scoped_lock lock(mutex);
    const auto byte = reinterpret_cast<uintptr_t>(at);
    const auto next = registered.upper_bound(byte);
    return next != registered.begin() && std::prev(next)->first + std::prev(next)->second > byte;
  }
};

}  // namespace sluice::device::grid
