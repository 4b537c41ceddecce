// SPDX-License-Identifier: BSD-3-Clause
//
// Offers a runner to DPDK's services. If the application gave EAL service lcores (-s, -S), one of
// them steps the model as soon as EAL starts them; if it was asked for (device_cpu=worker), the
// application's own lcores do, with rte_service_run_iter_on_app_lcore, between their polls.
#pragma once

#include <cstdint>
#include <string_view>

#include "emulator/runner.h"

namespace sluice::emulator {

class Service {
 public:
  /// Registers `runner`, which outlives the service, as "model_" and the first 24 characters of
  /// `name`. No effect if there are neither service lcores nor `workers`, lcores of the
  /// application's that call: the runner keeps its own thread.
  Service(std::string_view name, Runner& runner, bool workers);
  /// Returns when no lcore steps the runner any more.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

 private:
  bool registered_ = false;
  uint32_t id_ = 0;
};

}  // namespace sluice::emulator
