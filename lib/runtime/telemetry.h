// SPDX-License-Identifier: BSD-3-Clause
//
// /sluice/stats and /sluice/map for dpdk-telemetry.py and whatever reads its
// socket. Used by Supervisor.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/hooks.h"
#include "runtime/report.h"

namespace sluice::runtime {

/// Answers the two commands and the application's while it lives; afterwards they answer with
/// nothing. EAL's telemetry thread calls `take` and `commands`. One at a time. Names with what DPDK
/// takes in none of its own have _ for it; an object of such a name says that as its member "name".
class TelemetryScope {
 public:
  TelemetryScope(std::function<Sample()> take, std::span<const std::string_view> reasons,
                 std::span<const std::string> map, std::span<const TelemetryCommand> commands = {});
  ~TelemetryScope();
  TelemetryScope(const TelemetryScope&) = delete;
  TelemetryScope& operator=(const TelemetryScope&) = delete;
};

}  // namespace sluice::runtime
