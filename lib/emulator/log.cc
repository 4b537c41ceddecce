// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/log.h"

namespace sluice::emulator {
namespace {

RTE_LOG_REGISTER(log_type, sluice.emulator, NOTICE);

}  // namespace

void Log(uint32_t level, const std::string& line) {
  rte_log(level, static_cast<uint32_t>(log_type), "%s\n", line.c_str());
}

}  // namespace sluice::emulator
