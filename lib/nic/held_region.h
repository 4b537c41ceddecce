// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "swap/region.h"

namespace sluice::nic {

/// A region as its worker sees it, from the moment a link brings it to the moment it is given away.
/// The memory is the link's. What links of every driver have in common: SwapLink brings it.
struct HeldRegion {
  uint8_t* base = nullptr;         ///< First byte; entries count offsets from here.
  swap::Entry* entries = nullptr;  ///< One per frame.
  uint32_t received = 0;  ///< Entries that the NIC filled. Each is the NIC's word: check it.
  uint32_t capacity = 0;  ///< Entries that there is room for.
  uint32_t data = 0;      ///< Offset of the first byte behind the entries.
  uint32_t bytes = 0;     ///< Size of the region.
};

}  // namespace sluice::nic
