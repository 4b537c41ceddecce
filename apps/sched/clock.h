// SPDX-License-Identifier: BSD-3-Clause
//
// The TSC, and the nanoseconds that kernels, agents and reports count in.
#pragma once

#include <cstdint>

namespace sluice::sched {

class Clock {
 public:
  explicit constexpr Clock(uint64_t cycles_per_second)
      : hz_(cycles_per_second),
        ns_per_cycle_((uint64_t{1'000'000'000} << 32) / cycles_per_second) {}

  constexpr uint64_t hz() const { return hz_; }
  /// Rounded down, and by less than 1 ns a second.
  constexpr uint64_t Nanoseconds(uint64_t cycles) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(cycles) * ns_per_cycle_ >> 32);
  }
  /// So many that Nanoseconds of them is not less.
  constexpr uint64_t Cycles(uint64_t nanoseconds) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(nanoseconds + 1) << 32) /
                                 ns_per_cycle_) +
           1;
  }

 private:
  uint64_t hz_;
  uint64_t ns_per_cycle_;  ///< 32 bits of it behind the point.
};

}  // namespace sluice::sched
