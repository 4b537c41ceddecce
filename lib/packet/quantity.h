// SPDX-License-Identifier: BSD-3-Clause
//
// Parses quantities in flags and options: a decimal number followed by a unit.
#pragma once

#include <span>
#include <string_view>

namespace sluice::packet {

struct Unit {
  std::string_view name;  ///< Suffix of the number; empty if there is no unit.
  double factor;
};
inline constexpr Unit kMultiples[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}};
/// Factors that convert times to nanoseconds. A number without a unit is not a time.
inline constexpr Unit kTimeUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

/// Parses all of `text`, for example "14.88M": digits with an optional decimal point, followed by
/// one of `units`. '-' is the only sign that is accepted; exponents and blanks are rejected.
/// Returns false and leaves `value` unchanged if `text` is malformed or the number is outside
/// `least` … `most`, which must be finite.
bool ReadQuantity(std::string_view text, std::span<const Unit> units, double least, double most,
                  double* value);

/// Parses a rate of 0.001 … 10^12 packets per second, for example "500000", "500k" or "1.5G".
inline bool ReadPacketRate(std::string_view text, double* pps) {
  return ReadQuantity(text, kMultiples, 1e-3, 1e12, pps);
}

}  // namespace sluice::packet
