// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/options.h"

#include <cmath>

#include "packet/quantity.h"

namespace sluice::emulator {

bool ReadDuration(std::string_view text, uint64_t* ns) {
  double value = 0;
  if (!packet::ReadQuantity(text, packet::kTimeUnits, 1, 3600e9, &value)) return false;
  *ns = static_cast<uint64_t>(std::llround(value));
  return true;
}

}  // namespace sluice::emulator
