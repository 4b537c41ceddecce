// SPDX-License-Identifier: BSD-3-Clause
//
// The main thread's part of a run: launches workers, prints a line a period,
// waits for the end or a signal, stops traffic and workers in the order that
// loses nothing, and reports. Called by Session.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "nic/queue_counters.h"
#include "runtime/hooks.h"
#include "runtime/link_watch.h"
#include "runtime/metrics.h"
#include "runtime/port_stats.h"
#include "runtime/report.h"
#include "runtime/worker.h"

namespace sluice::runtime {

/// A worker as the main thread sees it.
struct WorkerView {
  WorkerControl* control;
  const nic::QueueCounters* counters;
  int (*main)(void* job);  ///< Runs on the worker's lcore.
  bool (*link_up)(const void* job);
  void* job;
};

/// Makes SIGINT, SIGTERM and, if the application wants it, SIGHUP events that Supervisor waits
/// for. Call before EAL starts its threads: they inherit the mask. A second SIGINT or SIGTERM
/// ends the process.
void BlockSignals(bool hangup);
/// Whether such a SIGINT or SIGTERM came and Supervisor has not seen it yet.
bool StopAsked();

class Supervisor {
 public:
  struct Plan {
    double duration_s;      ///< 0: until a signal.
    double stats_period_s;  ///< 0: no lines.
    uint16_t port;          ///< Whose source is started and stopped, if it is a model.
    std::FILE* text;        ///< Where lines and totals go.
    const AppHooks* hooks;
    MetricsServer* metrics;  ///< Null for none.
    PortStats opened;        ///< Of the port, before it could receive.
  };

  /// EAL has at least as many worker lcores as there are workers.
  Supervisor(const Plan& plan, std::span<const WorkerView> workers);

  /// The lcore of each worker.
  std::span<const uint32_t> lcores() const { return lcores_; }

  /// Runs to the end and fills in the figures that only a run has.
  void Run(RunFigures* figures);

 private:
  /// Any thread. `port`, if there, gets the statistics that the sample's NIC drops are taken from,
  /// read behind the workers' counters: a frame in between counts as missing rather than as
  /// accounted for.
  Sample Take(PortStats* port = nullptr) const;
  void Print(const std::string& line) const;
  /// Main thread, while workers poll: prints what changed, and calls the application.
  void LookAtLink();
  /// Prints lines until the time is over or a signal comes.
  void Watch();
  void Stop(bool model, RunFigures* figures);
  /// The source is off, the workers poll: waits until its frames came through.
  void Drain(RunFigures* figures) const;

  Plan plan_;
  std::span<const WorkerView> workers_;
  std::vector<uint32_t> lcores_;
  double begin_s_ = 0;
  LinkWatch link_;
};

}  // namespace sluice::runtime
