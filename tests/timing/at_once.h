// SPDX-License-Identifier: BSD-3-Clause
//
// The time limit of operations that must end immediately.
#pragma once

#include <ctime>

namespace sluice {

/// The limit is CPU time, since the machine may be loaded. AddressSanitizer makes the code several
/// times slower.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::clock_t kAtOnce = 8 * CLOCKS_PER_SEC;
#else
inline constexpr std::clock_t kAtOnce = CLOCKS_PER_SEC;
#endif

}  // namespace sluice
