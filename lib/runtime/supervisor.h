// SPDX-License-Identifier: BSD-3-Clause
//
// The main thread's part of a run: launches workers, prints periodic lines, waits for the end or a
// signal, stops the traffic before the workers so that no frame is lost, and reports. Called by
// Session.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "host/run_schedule.h"
#include "nic/queue_counters.h"
#include "runtime/hooks.h"
#include "runtime/link_watch.h"
#include "runtime/metrics.h"
#include "runtime/port_stats.h"
#include "runtime/report.h"
#include "runtime/worker.h"

namespace sluice::runtime {

/// The main thread's access to a worker.
struct WorkerView {
  WorkerControl* control;
  const nic::QueueCounters* counters;
  int (*main)(void* job);  ///< Entry point that runs on the worker's lcore.
  bool (*link_up)(const void* job);
  void* job;
};

/// The signals of a run (host::BlockRunSignals) must be blocked before EAL starts its threads. A
/// second SIGINT or SIGTERM ends the process.
class Supervisor {
 public:
  struct Plan {
    double duration_s;      ///< 0: until a signal arrives.
    double stats_period_s;  ///< 0: no statistics lines.
    uint16_t port;          ///< Port number. A model's source is started and stopped.
    std::FILE* text;        ///< Stream for lines and totals.
    const AppHooks* hooks;
    MetricsServer* metrics;  ///< Null for none.
    PortStats opened;        ///< Port statistics from before it could receive.
  };

  /// EAL must have at least one worker lcore for each element of `workers`.
  Supervisor(const Plan& plan, std::span<const WorkerView> workers);

  /// Returns the lcore of each worker.
  std::span<const uint32_t> lcores() const { return lcores_; }

  /// Runs to the end and sets the members of `figures` that depend on the run.
  void Run(RunFigures* figures);

 private:
  /// Reads all counters. May be called by any thread. Unless `port` is null, stores in it the
  /// statistics from which the NIC drops are computed. They are read after the workers' counters,
  /// so that a frame dropped in between counts as missing rather than as accounted for.
  Sample ReadSample(PortStats* port = nullptr) const;
  void Print(const std::string& line) const;
  /// Prints link changes and calls the application's hook. Called by the main thread while workers
  /// poll.
  void LookAtLink();
  /// Prints lines until the run ends: when AppHooks::over returns true (or, without this hook, the
  /// duration has passed), or when a stop signal arrives.
  void Watch();
  void Stop(bool model, RunFigures* figures);
  /// Waits until all frames from the source have been processed and nothing has moved for kQuietS,
  /// or until frames are missing and nothing has moved for kStalledS (drain.h). The source is off
  /// and the workers poll.
  void Drain(RunFigures* figures) const;

  Plan plan_;
  std::span<const WorkerView> workers_;
  std::vector<uint32_t> lcores_;
  host::RunSchedule schedule_;  ///< Starts when Run is called.
  LinkWatch link_;
};

}  // namespace sluice::runtime
