// SPDX-License-Identifier: BSD-3-Clause
//
// Formats reports as JSON: the lines of --export_json, and the last epoch in the final report.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "engine/telemetry/epoch_report.h"

namespace sluice::engine::telemetry {

/// Returns a report as JSON. `clock_unix_ns` is the time at which the report's clock was 0, in ns
/// since 1970. `confidence` is Setup::confidence, which applies to all bounds.
nlohmann::ordered_json EpochJson(const EpochReport& report, uint64_t clock_unix_ns,
                                 double confidence);

}  // namespace sluice::engine::telemetry
