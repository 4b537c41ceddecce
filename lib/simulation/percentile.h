// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "fabric/picoseconds.h"

namespace sluice::simulation {

/// Returns the percentile `share` (0.99 is the 99th) of `ascending` by nearest rank, or 0 if it is
/// empty.
inline fabric::Picoseconds PercentileOf(const std::vector<fabric::Picoseconds>& ascending,
                                        double share) {
  if (ascending.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(ascending.size())));
  return ascending[std::clamp<size_t>(rank, 1, ascending.size()) - 1];
}

}  // namespace sluice::simulation
