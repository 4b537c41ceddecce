// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "swap/region.h"

namespace sluice::nic {

/// A region while its worker holds it, from the swap that returned it until it is given back. The
/// link owns the memory. Links of all drivers return this type (SwapLink).
struct HeldRegion {
  uint8_t* base = nullptr;         ///< First byte; entry offsets are relative to it.
  swap::Entry* entries = nullptr;  ///< One per frame.
  uint32_t received = 0;           ///< Entries that the NIC filled; each must be validated.
  uint32_t capacity = 0;           ///< Maximum number of entries.
  uint32_t data = 0;               ///< Offset of the first byte after the entries.
  uint32_t bytes = 0;              ///< Size of the region.
};

}  // namespace sluice::nic
