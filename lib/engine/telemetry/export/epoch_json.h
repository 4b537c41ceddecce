// SPDX-License-Identifier: BSD-3-Clause
//
// Reports as JSON: lines of --export_json, and what the final report says of the last epoch.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "engine/telemetry/epoch_report.h"

namespace sluice::engine::telemetry {

/// `clock_unix_ns`: since 1970, at the 0 of the report's clock. `confidence`: of all bounds.
nlohmann::ordered_json EpochJson(const EpochReport& report, uint64_t clock_unix_ns,
                                 double confidence);

}  // namespace sluice::engine::telemetry
