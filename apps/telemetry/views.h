// SPDX-License-Identifier: BSD-3-Clause
//
// A run's data for programs: the EAL telemetry commands /sluice/telemetry/…, metrics, and members
// of the final report.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "exports.h"
#include "latest.h"
#include "runtime/hooks.h"

namespace sluice::telemetry {

class Views {
 public:
  /// Keeps references to `latest` and `exports`.
  Views(const Latest& latest, const Exports& exports, uint64_t clock_unix_ns, double confidence)
      : latest_(latest),
        exports_(exports),
        clock_unix_ns_(clock_unix_ns),
        confidence_(confidence) {}

  /// Returns commands that refer to this object.
  std::vector<runtime::TelemetryCommand> Commands() const;
  void AddMetrics(runtime::MetricFamilies& families) const;
  /// Adds the member "telemetry".
  void Extend(nlohmann::ordered_json& report) const;

 private:
  nlohmann::ordered_json Top(std::string_view parameters) const;
  nlohmann::ordered_json Epoch() const;

  const Latest& latest_;
  const Exports& exports_;
  const uint64_t clock_unix_ns_;
  const double confidence_;
};

}  // namespace sluice::telemetry
