// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace sluice::device::grid {

/// Number of blocks per role, not including block 0, which serves the registers.
struct Roles {
  uint32_t receivers = 1;
  uint32_t senders = 1;
  uint32_t exchangers = 1;  ///< Blocks that exchange regions or lines with the host.
};
constexpr uint32_t Blocks(const Roles& roles) {
  return 1 + roles.receivers + roles.senders + roles.exchangers;
}

}  // namespace sluice::device::grid
