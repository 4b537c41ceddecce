// SPDX-License-Identifier: BSD-3-Clause
//
// Offers a runner as a DPDK service. If the application has given EAL service lcores (-s, -S), one
// of them steps the model after EAL has started them. With device_cpu=worker, the application's
// lcores step it between their polls through rte_service_run_iter_on_app_lcore.
#pragma once

#include <cstdint>
#include <string_view>

#include "emulator/runner.h"

namespace sluice::emulator {

class Service {
 public:
  /// Registers `runner`, which must outlive the service, as "model_" and the first 24 characters of
  /// `name`. `workers` means that lcores of the application will call the service. With neither
  /// service lcores nor `workers` the object has no effect, and the runner keeps its thread.
  Service(std::string_view name, Runner& runner, bool workers);
  /// Waits until no lcore steps the runner.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

 private:
  bool registered_ = false;
  uint32_t id_ = 0;
};

}  // namespace sluice::emulator
