// SPDX-License-Identifier: BSD-3-Clause
//
// Converts between TSC cycles and the nanoseconds that kernels, agents and reports use.
#pragma once

#include <cstdint>

namespace sluice::sched {

class Clock {
 public:
  explicit constexpr Clock(uint64_t cycles_per_second)
      : hz_(cycles_per_second),
        ns_per_cycle_((uint64_t{1'000'000'000} << 32) / cycles_per_second) {}

  constexpr uint64_t hz() const { return hz_; }
  /// Returns the time in ns, rounded down. The error is less than 1 ns per second.
  constexpr uint64_t Nanoseconds(uint64_t cycles) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(cycles) * ns_per_cycle_ >> 32);
  }
  /// Returns a number of cycles for which Nanoseconds returns at least `nanoseconds`.
  constexpr uint64_t Cycles(uint64_t nanoseconds) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(nanoseconds + 1) << 32) /
                                 ns_per_cycle_) +
           1;
  }

 private:
  uint64_t hz_;
  uint64_t ns_per_cycle_;  ///< Fixed point with 32 fractional bits.
};

}  // namespace sluice::sched
