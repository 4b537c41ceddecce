// SPDX-License-Identifier: BSD-3-Clause
//
// Converts the workers' clock to the time of day without a system call. It is set from the system
// clock once, at construction, and never steps.
#pragma once

#include <cstdint>

namespace sluice::logmon {

class WallClock {
 public:
  /// `now_ns`: time since 1970 at which the workers' clock is `now_cycles`.
  WallClock(uint64_t now_ns, uint64_t now_cycles, uint64_t cycles_per_second)
      : start_ns_(now_ns),
        start_cycles_(now_cycles),
        ns_per_cycle_(1e9 / static_cast<double>(cycles_per_second)) {}

  uint64_t Ns(uint64_t cycles) const {
    const auto since = static_cast<int64_t>(cycles - start_cycles_);
    return start_ns_ +
           static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(since) * ns_per_cycle_));
  }
  /// Returns minutes since 1970.
  int64_t Minute(uint64_t cycles) const {
    return static_cast<int64_t>(Ns(cycles) / 60'000'000'000);
  }

 private:
  uint64_t start_ns_;
  uint64_t start_cycles_;
  double ns_per_cycle_;
};

}  // namespace sluice::logmon
