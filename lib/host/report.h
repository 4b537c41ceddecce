// SPDX-License-Identifier: BSD-3-Clause
//
// The common members of all programs' JSON reports (docs/command-line.md, "The JSON report").
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sluice::host {

/// "<major>.<minor>", which each report contains as "report_version". Increment the minor number
/// when a member is added. Increment the major number when a member is removed or changes its
/// meaning. tests/interfaces compares reports with those of the last release.
inline constexpr const char* kReportVersion = "2.0";

/// Returns the first members of a program's report: "app", the program's name without "sluice-";
/// "duration_s", the measured seconds; and both versions.
nlohmann::ordered_json NewReport(std::string_view app, double duration_s);

/// Returns the report as text. Bytes that are not valid UTF-8 are replaced.
std::string ReportText(const nlohmann::ordered_json& report);

/// Writes the report to `path`, the value of --json: a file, "-" for standard output, or an empty
/// string for no report. If this fails, prints one line and returns false.
bool WriteReport(const std::string& path, const std::string& report);

}  // namespace sluice::host
