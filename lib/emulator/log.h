// SPDX-License-Identifier: BSD-3-Clause
//
// One log type for all of lib/emulator: --log-level=sluice.emulator:debug.
#pragma once

#include <rte_log.h>

#include <cstdint>
#include <string>

namespace sluice::emulator {

/// Logs one line without newline; RTE_LOG_… levels. Control path.
void Log(uint32_t level, const std::string& line);

}  // namespace sluice::emulator
