// SPDX-License-Identifier: BSD-3-Clause
//
// The clock that measures time-outs and periods.
#pragma once

#include <cstdint>
#include <ctime>

namespace sluice::base {

/// Returns the time in ns since an unspecified moment. The clock is never set back
/// (CLOCK_MONOTONIC).
inline uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace sluice::base
