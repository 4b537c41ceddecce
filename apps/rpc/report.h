// SPDX-License-Identifier: BSD-3-Clause
//
// What sluice-rpc says about a run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/workload/histogram.h"
#include "load_wire.h"
#include "settings.h"

namespace sluice::rpc_app {

/// Of a moment.
struct Figures {
  double seconds = 0;  ///< Since the wire was switched on.
  LoadFigures load;
  engine::workload::Histogram latency;  ///< ns.
  std::vector<std::pair<std::string, uint64_t>> device;  ///< The device's counters.
  uint64_t restarts = 0;

  /// Calls that ended in none of their endings.
  uint64_t missing() const {
    return load.calls - load.answered - load.wrong - load.refused - load.lost;
  }
};

std::string PeriodLine(const Figures& earlier, const Figures& later);
/// `wait_method`: how cores wait.
std::string Totals(const Settings& settings, const Figures& run, const std::string& wait_method);
std::string Json(const Settings& settings, const Figures& run, const std::string& wait_method);

}  // namespace sluice::rpc_app
