// SPDX-License-Identifier: BSD-3-Clause
//
// Hooks with which an application extends a run: lines, report members, signals and telemetry. All
// members are optional. An application passes them to Session::Run.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/metric_values.h"

namespace sluice::runtime {

/// A telemetry command that an application adds.
struct TelemetryCommand {
  std::string path;  ///< "/sluice/…", shorter than 56 bytes.
  std::string help;
  /// Called by EAL's telemetry thread while workers run. The answer is an object or array whose
  /// elements are scalars, or objects of scalars. Entries and characters beyond DPDK's limits are
  /// omitted. An array of objects is sent as an object with the members "0", "1", ...
  std::function<nlohmann::ordered_json(std::string_view parameters)> answer;
};

/// Results of an application that verifies its traffic, as numbers of frames.
struct Findings {
  uint64_t lost = 0;
  uint64_t corrupted = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
  uint64_t foreign = 0;
};

struct AppHooks {
  /// For applications that schedule their sends; called by the main thread.
  /// - `started`: called when workers poll and the port's traffic source is on.
  /// - `over`: returns whether the run is over. Replaces --duration_s.
  /// - `settle`: called when the run is over, while workers still poll. Returns once the
  ///   application has stopped sending and all frames in flight have arrived or are lost.
  std::function<void()> started;
  std::function<bool()> over;
  /// Called with the link state whenever the main thread has read the state, while workers poll.
  std::function<void(bool up)> link_seen;
  std::function<void()> settle;
  /// Replaces the wire's findings in the totals and the report. Called while no worker runs.
  std::function<Findings()> findings;
  /// Returns text to print below every statistics line. Called by the main thread.
  std::function<std::string()> line;
  /// Adds members to the JSON report. Called while no worker runs.
  std::function<void(nlohmann::ordered_json& report)> report;
  /// Called by the main thread after a SIGHUP. Without it, SIGHUP ends the process.
  std::function<void()> on_hangup;
  std::vector<TelemetryCommand> commands;
  /// Adds families to those that --metrics serves. Called by the server's threads, one at a time,
  /// while workers run. Names must begin with "sluice_".
  std::function<void(MetricFamilies& families)> metrics;
};

}  // namespace sluice::runtime
