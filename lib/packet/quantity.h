// SPDX-License-Identifier: BSD-3-Clause
//
// Quantities as people write them in flags and options: a decimal number, and a unit behind it.
#pragma once

#include <span>
#include <string_view>

namespace sluice::packet {

struct Unit {
  std::string_view name;  ///< Behind the number; empty: no unit.
  double factor;
};
inline constexpr Unit kMultiples[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}};
/// In ns; a number alone is no time.
inline constexpr Unit kTimeUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

/// Reads all of `text` as "14.88M": digits, perhaps with a point among them, and one of `units`. No
/// sign but '-', no exponent, no blanks. False, with `value` as it was: it is none, or not within
/// `least` … `most`, both finite.
bool ReadQuantity(std::string_view text, std::span<const Unit> units, double least, double most,
                  double* value);

/// Packets a second, "500000", "500k" or "1.5G": from one in 1000 s to 10^12.
inline bool ReadPacketRate(std::string_view text, double* pps) {
  return ReadQuantity(text, kMultiples, 1e-3, 1e12, pps);
}

}  // namespace sluice::packet
