// SPDX-License-Identifier: BSD-3-Clause
//
// Offers a runner to DPDK's service lcores (-s, -S). If the application gave any,
// one of them steps the model as soon as EAL starts them.
#pragma once

#include <cstdint>
#include <string_view>

#include "emulator/runner.h"

namespace sluice::emulator {

class Service {
 public:
  /// Registers `runner`, which outlives the service. No effect if there are no
  /// service lcores: the runner keeps its own thread.
  Service(std::string_view name, Runner& runner);
  /// Returns when no service lcore steps the runner any more.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

 private:
  bool registered_ = false;
  uint32_t id_ = 0;
};

}  // namespace sluice::emulator
