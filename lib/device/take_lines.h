// SPDX-License-Identifier: BSD-3-Clause
//
// Prefetches memory that passes between a device's core and the host's core.
#pragma once

#include <cstdint>

namespace sluice::device {

/// Size of a cache line in bytes.
inline constexpr uint32_t kCacheLine = 64;

/// Prefetches the cache lines of the `bytes` bytes at `first`, which this thread will write. Any
/// address is allowed, because a prefetch cannot fault.
inline void PrefetchLines(const uint8_t* first, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(first + at, 1);
}

}  // namespace sluice::device
