// SPDX-License-Identifier: BSD-3-Clause
#include "packet/quantity.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace sluice::packet {

bool ReadQuantity(std::string_view text, std::span<const Unit> units, double least, double most,
                  double* value) {
  double number = 0;
  const auto [end, status] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (status != std::errc()) return false;
  const auto unit =
      std::ranges::find(units, text.substr(static_cast<size_t>(end - text.data())), &Unit::name);
  if (unit == units.end()) return false;
  number *= unit->factor;
  if (!(number >= least && number <= most)) return false;  // Also rejects NaN.
  *value = number;
  return true;
}

}  // namespace sluice::packet
