// SPDX-License-Identifier: BSD-3-Clause
//
// Parses quantities in flags and options: a decimal number followed by a unit.
#pragma once

#include <span>
#include <string_view>

namespace sluice::packet {

struct Unit {
  std::string_view name;  ///< Suffix of the number; empty for no unit.
  double factor;
};
inline constexpr Unit kMultiples[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}};
/// Factors that convert to nanoseconds; a number without a unit is not a time.
inline constexpr Unit kTimeUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

/// Parses all of `text`, for example "14.88M": digits with an optional point, and one of `units`.
/// Signs other than '-', exponents and blanks are rejected. Returns false and does not change
/// `value` if `text` is malformed or outside `least` … `most`, which must be finite.
bool ReadQuantity(std::string_view text, std::span<const Unit> units, double least, double most,
                  double* value);

/// Parses a rate of 0.001 … 10^12 packets per second, for example "500000", "500k" or "1.5G".
inline bool ReadPacketRate(std::string_view text, double* pps) {
  return ReadQuantity(text, kMultiples, 1e-3, 1e12, pps);
}

}  // namespace sluice::packet
