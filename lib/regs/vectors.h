// SPDX-License-Identifier: BSD-3-Clause
//
// Interrupt numbers of a device. Interrupts are messages, as with MSI-X. Number 0 belongs to the
// port, as ethdev requires; the queues' numbers follow.
#pragma once

#include <cstdint>

namespace sluice::regs {

inline constexpr uint32_t kVectors = 32;
inline constexpr uint32_t kPortVector = 0;  ///< Port events: carrier changes and aged rules.
constexpr uint32_t QueueVector(uint32_t queue) { return 1 + queue; }

}  // namespace sluice::regs
