// SPDX-License-Identifier: BSD-3-Clause
//
// What an application may add to a run: to its lines, its report, its signals and its
// telemetry. Everything is optional. Given to Session::Run.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/metric_values.h"

namespace sluice::runtime {

/// A telemetry command of the application's own.
struct TelemetryCommand {
  std::string path;  ///< "/sluice/…", shorter than 56 bytes.
  std::string help;
  /// EAL's telemetry thread calls it while workers run. The answer is an object or an array
  /// of scalars, or of objects of scalars; what does not fit into DPDK's limits is left out, and
  /// an array of objects is sent as an object by places, "0", "1", ...
  std::function<nlohmann::ordered_json(std::string_view parameters)> answer;
};

/// What an application that verifies its own traffic found; frames.
struct Findings {
  uint64_t lost = 0;
  uint64_t corrupted = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
  uint64_t foreign = 0;
};

struct AppHooks {
  /// Of an application that sends at its own times; the main thread calls them. `started`:
  /// workers poll, and what is behind the port is on. `over`: whether the run is; instead of
  /// --duration_s. `settle`: the run is over; returns once nothing is sent any more and what is
  /// under way has come, or will not. Workers still poll.
  std::function<void()> started;
  std::function<bool()> over;
  /// Whether the link is up, at each look of the main thread at it, while workers poll.
  std::function<void(bool up)> link_seen;
  std::function<void()> settle;
  /// Instead of what the wire found, in totals and report. Workers are at rest.
  std::function<Findings()> findings;
  /// Printed below every statistics line; the main thread calls it.
  std::function<std::string()> line;
  /// Adds members to the JSON report. Workers are at rest.
  std::function<void(nlohmann::ordered_json& report)> report;
  /// SIGHUP came; the main thread calls it. Without it SIGHUP ends the process, as ever.
  std::function<void()> on_hangup;
  std::vector<TelemetryCommand> commands;
  /// Adds families to what --metrics serves; its threads call it, one at a time, while workers
  /// run. Names begin with "sluice_".
  std::function<void(MetricFamilies& families)> metrics;
};

}  // namespace sluice::runtime
