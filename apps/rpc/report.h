// SPDX-License-Identifier: BSD-3-Clause
//
// What sluice-rpc says about a run.
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

/// Of a moment.
struct Figures {
  double seconds = 0;                   ///< Since the wire was switched on.
  LoadFigures load;                     ///< If the clients are our own.
  engine::workload::Histogram latency;  ///< ns; of them, too.
  /// The device's counters, and the wire's.
  std::vector<std::pair<std::string, uint64_t>> device;
  uint64_t restarts = 0;

  uint64_t counter(std::string_view name) const {
    for (const auto& [its, value] : device) {
      if (its == name) return value;
    }
    return 0;
  }
  uint64_t answered() const { return counter("rpc_answered"); }
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
