// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace sluice::device::grid {

/// Numbers of blocks in addition to block 0, which serves registers.
struct Roles {
  uint32_t receivers = 1;
  uint32_t senders = 1;
};
constexpr uint32_t Blocks(const Roles& roles) { return 1 + roles.receivers + roles.senders; }

}  // namespace sluice::device::grid
