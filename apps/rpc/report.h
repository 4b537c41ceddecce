// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-rpc's reports on a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/workload/histogram.h"
#include "load_wire.h"
#include "settings.h"

namespace sluice::rpc_app {

/// Statistics of a run at one moment.
struct Figures {
  double seconds = 0;                   ///< Seconds since the wire was enabled.
  LoadFigures load;                     ///< Figures of the built-in clients; zero without them.
  engine::workload::Histogram latency;  ///< Latencies of the built-in clients in ns.
  /// Counters of the device and of the wire.
  std::vector<std::pair<std::string, uint64_t>> device;
  uint64_t restarts = 0;

  uint64_t counter(std::string_view name) const {
    for (const auto& [its, value] : device) {
      if (its == name) return value;
    }
    return 0;
  }
  uint64_t answered() const { return counter("rpc_answered"); }
  /// Returns the number of calls that have not ended.
  uint64_t missing() const {
    return load.calls - load.answered - load.wrong - load.refused - load.lost;
  }
};

std::string PeriodLine(const Figures& earlier, const Figures& later);
/// Return the final report as text and as JSON. `wait_method`: how cores wait.
std::string Totals(const Settings& settings, const Figures& run, const std::string& wait_method);
std::string Json(const Settings& settings, const Figures& run, const std::string& wait_method);

}  // namespace sluice::rpc_app
