// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that takes closed epochs from the workers' meters, merges them and hands out the
// reports. It runs on the CPUs of the thread that made it, main's, and never makes a worker wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "engine/telemetry/analyst.h"
#include "engine/telemetry/epoch_report.h"
#include "engine/telemetry/meter.h"
#include "engine/telemetry/setup.h"

namespace sluice::telemetry {

class EpochReader {
 public:
  using Meters = std::vector<std::unique_ptr<engine::telemetry::Meter>>;

  /// `meters` and what `publish` refers to outlive it. `publish` is called by the reader's thread,
  /// and by Finish.
  EpochReader(const engine::telemetry::Setup& setup, uint64_t cycles_per_second, Meters& meters,
              std::function<void(const engine::telemetry::EpochReport&)> publish);
  ~EpochReader();
  EpochReader(const EpochReader&) = delete;
  EpochReader& operator=(const EpochReader&) = delete;

  /// Workers are at rest: ends their epochs and publishes what is left. Once; later calls do
  /// nothing.
  void Finish(uint64_t now);

 private:
  void Main();
  void Stop();
  /// Publishes an epoch that all workers have closed. False: there is none yet.
  bool Take();
  void Report(std::span<const engine::telemetry::Epoch* const> epochs);

  Meters& meters_;
  engine::telemetry::Analyst analyst_;
  const std::function<void(const engine::telemetry::EpochReport&)> publish_;
  const std::chrono::nanoseconds pause_;  ///< Between two looks.
  std::mutex mutex_;
  std::condition_variable stop_asked_;
  bool stop_ = false;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace sluice::telemetry
