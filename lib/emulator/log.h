// SPDX-License-Identifier: BSD-3-Clause
//
// One log type for all of lib/emulator: --log-level=sluice.emulator:debug.
#pragma once

#include <rte_log.h>

#include <cstdint>
#include <string>

namespace sluice::emulator {

/// Logs `line`, which must not contain a newline, at an RTE_LOG_… level. Used on the control path
/// only.
void Log(uint32_t level, const std::string& line);

}  // namespace sluice::emulator
