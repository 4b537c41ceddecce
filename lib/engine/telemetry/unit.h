// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace sluice::engine::telemetry {

/// Units per packet or byte. Counters count in units of 1/256, so that 1/p need not be an integer.
inline constexpr int64_t kUnit = 256;

}  // namespace sluice::engine::telemetry
