// SPDX-License-Identifier: BSD-3-Clause
//
// Assigns the lanes of a port's register queue to secondary processes.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "bar/posted_queue.h"

namespace sluice::net_ipu {

/// Guest numbers of secondary processes, less than kMost. Used by one thread.
class Guests {
 public:
  static constexpr uint32_t kMost = bar::PostedQueue::kGuests;

  /// Returns the number of the process named `process`: its earlier number or, if it has none, the
  /// first number that no live process has. `is_alive(name)` returns whether a process is alive.
  /// Returns kMost if all numbers are in use.
  template <typename IsAlive>
  uint32_t NumberOf(const std::string& process, IsAlive&& is_alive) {
    uint32_t number = 0;
    while (number < kMost && names_[number] != process) ++number;
    if (number < kMost) return number;
    number = 0;
    while (number < kMost && !names_[number].empty() && is_alive(names_[number])) ++number;
    if (number < kMost) names_[number] = process;
    return number;
  }

 private:
  std::array<std::string, kMost> names_;  ///< Empty if the number is unused.
};

}  // namespace sluice::net_ipu
