// SPDX-License-Identifier: BSD-3-Clause
//
// The time limit for operations that must end immediately.
#pragma once

#include <ctime>

namespace sluice {

/// This is a limit on CPU time, because the machine may be loaded. AddressSanitizer makes the code
/// several times slower.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::clock_t kAtOnce = 8 * CLOCKS_PER_SEC;
#else
inline constexpr std::clock_t kAtOnce = CLOCKS_PER_SEC;
#endif

}  // namespace sluice
