// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that reads closed epochs from the workers' meters and publishes the reports. It runs
// on the CPUs of the main thread, which creates it, and never blocks a worker.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "engine/telemetry/collector.h"
#include "engine/telemetry/epoch_report.h"
#include "engine/telemetry/setup.h"

namespace sluice::telemetry {

class EpochReader {
 public:
  using Meters = engine::telemetry::Collector::Meters;

  /// `meters` and all objects that `publish` uses must outlive the object. `publish` is called on
  /// the reader's thread, and by Finish.
  EpochReader(const engine::telemetry::Setup& setup, uint64_t cycles_per_second, Meters& meters,
              engine::telemetry::Collector::Publish publish);
  ~EpochReader();
  EpochReader(const EpochReader&) = delete;
  EpochReader& operator=(const EpochReader&) = delete;

  /// Ends the workers' epochs and publishes the remaining reports. The workers must have stopped.
  /// Later calls have no effect.
  void Finish(uint64_t now);

 private:
  void Main();
  void Stop();

  engine::telemetry::Collector collector_;
  const std::chrono::nanoseconds pause_;  ///< Interval between two polls.
  std::mutex mutex_;
  std::condition_variable stop_asked_;
  bool stop_ = false;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace sluice::telemetry
