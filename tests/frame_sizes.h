// SPDX-License-Identifier: BSD-3-Clause
//
// Frame sizes for a benchmark: one size, IMIX, or random sizes. Every run uses the same sizes.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

#include "packet/frame.h"
#include "packet/imix.h"

namespace sluice {

/// Returns `count` sizes in bytes without FCS. `sizes` is a number, "imix", or "random" for sizes
/// from 60 to 1514.
inline std::vector<uint32_t> FrameSizes(const char* sizes, uint32_t count) {
  std::minstd_rand random(1);
  std::uniform_int_distribution<uint32_t> any(60, 1514);
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < count; ++i) {
    if (std::string_view(sizes) == "imix") {
      found.push_back(packet::kImixSizes[i % packet::kImixSizes.size()] - packet::kFcsBytes);
    } else if (std::string_view(sizes) == "random") {
      found.push_back(any(random));
    } else {
      found.push_back(static_cast<uint32_t>(std::atoi(sizes)));
    }
  }
  return found;
}

}  // namespace sluice
