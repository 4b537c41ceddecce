// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/log.h"

namespace sluice::runtime {

int log_runtime;
int log_capture;

}  // namespace sluice::runtime

RTE_INIT(RegisterSluiceLogTypes) {
  using namespace sluice::runtime;
  log_runtime = rte_log_register_type_and_pick_level("sluice.runtime", RTE_LOG_NOTICE);
  log_capture = rte_log_register_type_and_pick_level("sluice.capture", RTE_LOG_NOTICE);
}
