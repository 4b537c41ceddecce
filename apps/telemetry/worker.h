// SPDX-License-Identifier: BSD-3-Clause
//
// The engine of a worker lcore: a meter that other threads read. The meter outlives the worker, so
// that its last epoch can be read after all workers have stopped.
#pragma once

#include <cstdint>

#include "engine/telemetry/meter.h"
#include "packet/burst.h"
#include "packet/engine.h"

namespace sluice::telemetry {

class Worker final : public packet::Engine {
 public:
  explicit Worker(engine::telemetry::Meter& meter) : meter_(&meter) {}

  void AtRest(uint64_t now) override { meter_->AtRest(now); }
  template <packet::Burst Burst>
  void ProcessBurst(const Burst& burst, uint64_t now) {
    meter_->ProcessBurst(burst, now);
  }

 private:
  engine::telemetry::Meter* meter_;
};

}  // namespace sluice::telemetry
