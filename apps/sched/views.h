// SPDX-License-Identifier: BSD-3-Clause
//
// What people and programs see of a run: its lines, its totals, its report, its telemetry.
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

/// What is measured, and that the window is a model.
std::string Introduction(const Settings& settings);

/// The line of each period in a run of one policy and mode.
class Lines {
 public:
  /// `play` outlives it.
  explicit Lines(Play& play) : play_(play) {}
  /// `port`: what clients behind a model NIC say is added.
  std::string Next(const runtime::PortStats& port);

 private:
  Play& play_;
  Result last_;
};

/// Adds "runs" to a report: an object for each policy and mode.
void Extend(const Board& board, nlohmann::ordered_json& report);
/// A line for each fault of the agent or of the host's patience, and a row for a run of one cell.
std::string Totals(const Board& board);
uint64_t Unfinished(const Board& board);

/// /sluice/sched/stats, /sluice/sched/latency and /sluice/sched/results.
std::vector<runtime::TelemetryCommand> Commands(Play& play);

}  // namespace sluice::sched
