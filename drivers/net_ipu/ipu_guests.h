// SPDX-License-Identifier: BSD-3-Clause
//
// Which secondary process posts to which lanes of a port's register queue.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "bar/posted_queue.h"

namespace sluice::net_ipu {

/// Numbers of guests, below kMost. Used by one thread.
class Guests {
 public:
  static constexpr uint32_t kMost = bar::PostedQueue::kGuests;

  /// The number of the process that has the name `process`: the one that it had before, or one that
  /// nobody has for whom `is_alive(name)` is true. kMost: there is none.
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
  std::array<std::string, kMost> names_;  ///< Empty: nobody yet.
};

}  // namespace sluice::net_ipu
