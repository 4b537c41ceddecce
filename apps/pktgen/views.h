// SPDX-License-Identifier: BSD-3-Clause
//
// A run's output about its generator: one line per period, totals, JSON, latency files and
// telemetry.
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

/// Returns count, mean and percentiles, in ns.
nlohmann::ordered_json LatencyJson(const engine::workload::Histogram& latency);

class Views {
 public:
  /// `round` must outlive the object.
  explicit Views(Round& round) : round_(round) {}

  /// Returns a line about the period since the last call. To be called by the main thread.
  std::string Line();
  /// Returns a line for each capture that will be modified for sending. Call it before a run.
  static std::string CaptureNotes(const Settings& settings);
  /// Returns a line for each stream of a finished run, each followed by lines about the stream's
  /// untagged and missing frames.
  static std::string Totals(const engine::pktgen::TrialResult& result, double seconds);
  /// Adds the generator's members to the report of a finished run.
  static void Extend(const engine::pktgen::TrialResult& result, double seconds,
                     const Settings& settings, nlohmann::ordered_json& report);
  /// Returns the results of the generator's checks, which replace those of the wire in the report.
  static runtime::Findings FindingsOf(const engine::pktgen::TrialResult& result);
  /// Returns the commands "/sluice/pktgen/streams" and "/sluice/pktgen/latency". May be called by
  /// any thread.
  std::vector<runtime::TelemetryCommand> Commands();

  /// Writes the latencies of each stream to `prefix` + the stream's name + ".hgrm". On failure,
  /// returns false and sets `failed` to the name of the file.
  static bool WriteLatencies(const engine::pktgen::TrialResult& result, const std::string& prefix,
                             std::string* failed);

 private:
  Round& round_;
  engine::workload::Histogram shown_;  ///< Latencies that earlier lines covered.
};

}  // namespace sluice::pktgen
