// SPDX-License-Identifier: BSD-3-Clause
//
// The reader of all workers' meters: merges the epochs that they have closed and publishes reports.
// May be used by different threads, but only by one at a time.
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
  /// Receives a report. `merged` contains the report's counters and is valid only during the call.
  using Publish = std::function<void(const EpochReport& report, const Epoch& merged)>;

  /// `meters` must have been created with `setup`. `meters`, and all objects that `publish` refers
  /// to, must outlive the collector.
  Collector(const Setup& setup, uint64_t cycles_per_second, Meters& meters, Publish publish);

  /// Publishes the epoch that all workers have closed. Does nothing and returns false if any worker
  /// has no closed epoch.
  bool PublishEpoch();
  /// Ends the current epoch of every worker and publishes all epochs that are not yet published.
  /// The workers must have stopped.
  void Finish(uint64_t now);

 private:
  void Report(std::span<const Epoch* const> epochs);

  Meters& meters_;
  Analyst analyst_;
  const Publish publish_;
};

}  // namespace sluice::engine::telemetry
