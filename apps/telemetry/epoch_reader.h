// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that takes closed epochs from the workers' meters and hands out the reports. It runs
// on the CPUs of the thread that made it, main's, and never makes a worker wait.
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

  /// `meters` and what `publish` refers to outlive it. `publish` is called by the reader's thread,
  /// and by Finish.
  EpochReader(const engine::telemetry::Setup& setup, uint64_t cycles_per_second, Meters& meters,
              engine::telemetry::Collector::Publish publish);
  ~EpochReader();
  EpochReader(const EpochReader&) = delete;
  EpochReader& operator=(const EpochReader&) = delete;

  /// Workers are at rest: ends their epochs and publishes what is left. Once; later calls do
  /// nothing.
  void Finish(uint64_t now);

 private:
  void Main();
  void Stop();

  engine::telemetry::Collector collector_;
  const std::chrono::nanoseconds pause_;  ///< Between two looks.
  std::mutex mutex_;
  std::condition_variable stop_asked_;
  bool stop_ = false;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace sluice::telemetry
