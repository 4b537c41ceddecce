// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that passes between a device's core and the host's.
#pragma once

#include <cstdint>

namespace sluice::device {

/// Bytes of a processor's line.
inline constexpr uint32_t kCacheLine = 64;

/// Asks for lines that this thread will write, with the right to: any address, a fetch cannot
/// fault.
inline void TakeLines(const uint8_t* first, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(first + at, 1);
}

}  // namespace sluice::device
