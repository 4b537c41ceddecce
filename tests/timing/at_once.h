// SPDX-License-Identifier: BSD-3-Clause
//
// How long something may take that is to be over at once.
#pragma once

#include <ctime>

namespace sluice {

/// CPU time: others may be at work. What AddressSanitizer checks is several times slower.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::clock_t kAtOnce = 8 * CLOCKS_PER_SEC;
#else
inline constexpr std::clock_t kAtOnce = CLOCKS_PER_SEC;
#endif

}  // namespace sluice
