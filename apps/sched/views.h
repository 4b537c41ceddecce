// SPDX-License-Identifier: BSD-3-Clause
//
// A run's output for users and programs: lines, totals, report and telemetry.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "figures.h"
#include "runtime/hooks.h"
#include "runtime/port_stats.h"
#include "settings.h"
#include "stage.h"

namespace sluice::sched {

/// Returns a description of the measurement, which states that the window is a model.
std::string Introduction(const Settings& settings);

/// Produces the line of each period in a run of one policy and mode.
class Lines {
 public:
  /// `play` must outlive the object.
  explicit Lines(Play& play) : play_(play) {}
  /// Returns the text for the next period. The text includes the counters of embedded clients if
  /// `port` has any.
  std::string Next(const runtime::PortStats& port);

 private:
  Play& play_;
  Result last_;
};

/// Adds "runs" to a report: one object per policy and mode.
void Extend(const Board& board, nlohmann::ordered_json& report);
/// Returns a table if the run has a single policy and mode; one line for each policy and mode that
/// had several agents, faults of a peer or an expired watchdog; and a line of totals over all
/// requests.
std::string Totals(const Board& board);
uint64_t Unfinished(const Board& board);

/// Returns the commands /sluice/sched/stats, /sluice/sched/latency and /sluice/sched/results.
std::vector<runtime::TelemetryCommand> Commands(Play& play);

}  // namespace sluice::sched
