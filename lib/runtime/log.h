// SPDX-License-Identifier: BSD-3-Clause
//
// Log types, one per module, so that `--log-level=sluice.capture:debug` works as for any DPDK
// component. Not used on the data path.
#pragma once

#include <rte_log.h>

namespace sluice::runtime {

extern int log_runtime;  ///< sluice.runtime
extern int log_capture;  ///< sluice.capture

}  // namespace sluice::runtime

/// Logs one line with a log type: SLUICE_LOG(runtime, WARNING, "…", …). A macro is needed because
/// rte_log is a C printf-style function, and only a macro can concatenate the level and the
/// newline.
#define SLUICE_LOG(type, level, format, ...)              \
  rte_log(RTE_LOG_##level, ::sluice::runtime::log_##type, \
          "SLUICE: " format "\n" __VA_OPT__(, ) __VA_ARGS__)
