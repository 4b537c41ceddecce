// SPDX-License-Identifier: BSD-3-Clause
//
// The commands /sluice/stats and /sluice/map for dpdk-telemetry.py and other readers of DPDK's
// telemetry socket. Used by Supervisor.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/hooks.h"
#include "runtime/report.h"

namespace sluice::runtime {

/// Answers /sluice/stats, /sluice/map and the application's commands while it exists; later answers
/// are empty. At most one instance may exist at a time. EAL's telemetry thread calls `take` and
/// `commands`. Characters that DPDK does not accept in names are replaced by _; if the value is an
/// object, its member "name" contains the original name.
class TelemetryScope {
 public:
  TelemetryScope(std::function<Sample()> take, std::span<const std::string_view> reasons,
                 std::span<const std::string> map, std::span<const TelemetryCommand> commands = {});
  ~TelemetryScope();
  TelemetryScope(const TelemetryScope&) = delete;
  TelemetryScope& operator=(const TelemetryScope&) = delete;
};

}  // namespace sluice::runtime
