// SPDX-License-Identifier: BSD-3-Clause
//
// What a run reports: the line of a period, the JSON report, the answers of telemetry, and
// metrics. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config.h"
#include "ledger.h"
#include "runtime/metric_values.h"

namespace sluice::logmon {

struct Figures;

/// One line of printable ASCII, with its LF: what is no UTF-8 becomes U+FFFD, everything else that
/// is not printable is escaped.
std::string AsciiLine(const nlohmann::ordered_json& json);

/// A filter's minute that is over.
nlohmann::ordered_json MinuteJson(const FilterMinute& minute, const Config& config);

/// "lines 1.20 M/s, matched …: name 12 …" of the time between two moments.
std::string PeriodLine(const Figures& before, const Figures& after, double seconds,
                       const Config& config);

/// Members "lines", "filters", "sources", "scan" and so on.
nlohmann::ordered_json FiguresJson(const Figures& figures, const Config& config);

/// Families "sluice_logmon_…".
void AddMetrics(const Figures& figures, const Config& config, runtime::MetricFamilies& families);

}  // namespace sluice::logmon
