// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/options.h"

#include <span>

namespace sluice::emulator {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kRateUnits[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}};
constexpr Unit kTimeUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

/// A decimal number and one of `units` behind it, from `least` to `most`.
bool ReadQuantity(std::string_view text, std::span<const Unit> units, double least, double most,
                  double* value) {
  const auto [end, status] =
      std::from_chars(text.data(), text.data() + text.size(), *value, std::chars_format::fixed);
  if (status != std::errc()) return false;
  const auto unit =
      std::ranges::find(units, text.substr(static_cast<size_t>(end - text.data())), &Unit::name);
  if (unit == units.end()) return false;
  *value *= unit->factor;
  return *value >= least && *value <= most;
}

}  // namespace

bool ReadRate(std::string_view text, double* pps) {
  return ReadQuantity(text, kRateUnits, 1e-3, 1e12, pps);
}

bool ReadDuration(std::string_view text, uint64_t* ns) {
  double value = 0;
  if (!ReadQuantity(text, kTimeUnits, 1, 3600e9, &value)) return false;
  *ns = static_cast<uint64_t>(value);
  return true;
}

}  // namespace sluice::emulator
