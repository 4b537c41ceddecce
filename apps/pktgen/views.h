// SPDX-License-Identifier: BSD-3-Clause
//
// What a run shows of its generator: a line a period, totals, JSON, files of latencies, telemetry.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/pktgen/trial.h"
#include "engine/workload/histogram.h"
#include "round.h"
#include "runtime/hooks.h"
#include "settings.h"

namespace sluice::pktgen {

/// Count, mean and percentiles, in ns.
nlohmann::ordered_json LatencyJson(const engine::workload::Histogram& latency);

class Views {
 public:
  /// `round` outlives it.
  explicit Views(Round& round) : round_(round) {}

  /// Of the time since the last call. Main thread.
  std::string Line();
  /// Before a run: a line for each capture that is not sent as it was.
  static std::string CaptureNotes(const Settings& settings);
  /// Of a finished run, a line per stream.
  static std::string Totals(const engine::pktgen::TrialResult& result, double seconds);
  /// Adds its members to the report of a finished run.
  static void Extend(const engine::pktgen::TrialResult& result, double seconds,
                     const Settings& settings, nlohmann::ordered_json& report);
  /// What the report says instead of the wire.
  static runtime::Findings FindingsOf(const engine::pktgen::TrialResult& result);
  /// "/sluice/pktgen/streams" and "/sluice/pktgen/latency". Any thread.
  std::vector<runtime::TelemetryCommand> Commands();

  /// Writes latencies of every stream to `prefix` + its name + ".hgrm". False: one could not be;
  /// its name is in `failed`.
  static bool WriteLatencies(const engine::pktgen::TrialResult& result, const std::string& prefix,
                             std::string* failed);

 private:
  Round& round_;
  engine::workload::Histogram shown_;  ///< Latencies that lines have shown.
};

}  // namespace sluice::pktgen
