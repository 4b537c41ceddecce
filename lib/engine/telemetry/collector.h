// SPDX-License-Identifier: BSD-3-Clause
//
// The reader of all workers' meters: takes epochs that they have closed, merges them and hands out
// the reports. One thread at a time, which need not be the same.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/telemetry/analyst.h"
#include "engine/telemetry/epoch_report.h"
#include "engine/telemetry/meter.h"
#include "engine/telemetry/setup.h"

namespace sluice::engine::telemetry {

class Collector {
 public:
  using Meters = std::vector<std::unique_ptr<Meter>>;
  /// `merged`: the counters that the report is of, until the function returns.
  using Publish = std::function<void(const EpochReport& report, const Epoch& merged)>;

  /// `meters`, of that setup, and what `publish` refers to outlive it.
  Collector(const Setup& setup, uint64_t cycles_per_second, Meters& meters, Publish publish);

  /// Publishes an epoch that all workers have closed. False: there is none yet.
  bool Take();
  /// Workers are at rest: ends their epochs and publishes what is left.
  void Finish(uint64_t now);

 private:
  void Report(std::span<const Epoch* const> epochs);

  Meters& meters_;
  Analyst analyst_;
  const Publish publish_;
};

}  // namespace sluice::engine::telemetry
