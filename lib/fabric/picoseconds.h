// SPDX-License-Identifier: BSD-3-Clause
//
// Virtual time: integer picoseconds, so that sums of costs such as 33.333 ns never drift.
#pragma once

#include <cstdint>

namespace sluice::fabric {

/// A point in virtual time, or a duration. 2^64 ps is 213 days.
using Picoseconds = uint64_t;

inline namespace literals {
constexpr Picoseconds operator""_ps(unsigned long long value) { return value; }
constexpr Picoseconds operator""_ns(unsigned long long value) { return value * 1000; }
constexpr Picoseconds operator""_us(unsigned long long value) { return value * 1'000'000; }
}  // namespace literals

/// Converts a time to nanoseconds, for printing only.
constexpr double ToNanoseconds(Picoseconds time) { return static_cast<double>(time) / 1000; }

}  // namespace sluice::fabric
