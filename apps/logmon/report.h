// SPDX-License-Identifier: BSD-3-Clause
//
// Reports on a run: the line for a period, the JSON report, telemetry answers, and metrics. The
// functions have no side effects.
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

/// Returns one line of printable ASCII, with its LF. Invalid UTF-8 becomes U+FFFD; all other
/// non-printable characters are escaped.
std::string AsciiLine(const nlohmann::ordered_json& json);

/// Returns a closed minute of a filter.
nlohmann::ordered_json MinuteJson(const FilterMinute& minute, const Config& config);

/// Returns an indented line about the period between two moments, such as "1.200 M lines/s, 0.300
/// M/s matched, 4 sources: name 12/s, …". If there are many filters, the line includes only the
/// first ones.
std::string PeriodLine(const Figures& before, const Figures& after, double seconds,
                       const Config& config);

/// Returns the members "lines", "filters", "sources", "scan" and others.
nlohmann::ordered_json FiguresJson(const Figures& figures, const Config& config);

/// Adds the "sluice_logmon_…" metric families.
void AddMetrics(const Figures& figures, const Config& config, runtime::MetricFamilies& families);

}  // namespace sluice::logmon
