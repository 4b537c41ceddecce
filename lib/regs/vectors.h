// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers of a device's interrupts, which are messages as with MSI-X. Number 0 is the port's, as
// ethdev requires; the queues' numbers follow.
#pragma once

#include <cstdint>

namespace sluice::regs {

inline constexpr uint32_t kVectors = 32;
inline constexpr uint32_t kPortVector = 0;  ///< Events of the port: changed carrier, aged rules.
constexpr uint32_t QueueVector(uint32_t queue) { return 1 + queue; }

}  // namespace sluice::regs
