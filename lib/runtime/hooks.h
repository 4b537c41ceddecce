// SPDX-License-Identifier: BSD-3-Clause
//
// What an application may add to a run: to its lines, its report, its signals and its
// telemetry. Everything is optional. Given to Session::Run.
#pragma once

#include <prometheus/metric_family.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

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

struct AppHooks {
  /// Printed below every statistics line; the main thread calls it.
  std::function<std::string()> line;
  /// Adds members to the JSON report. Workers are at rest.
  std::function<void(nlohmann::ordered_json& report)> report;
  /// SIGHUP came; the main thread calls it. Without it SIGHUP ends the process, as ever.
  std::function<void()> on_hangup;
  std::vector<TelemetryCommand> commands;
  /// Adds families to what --metrics serves; its threads call it, one at a time, while workers
  /// run. Names begin with "sluice_".
  std::function<void(std::vector<prometheus::MetricFamily>& families)> metrics;
};

}  // namespace sluice::runtime
