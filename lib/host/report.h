// SPDX-License-Identifier: BSD-3-Clause
//
// The frame of the JSON reports of all programs (docs/command-line.md, "The JSON report").
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sluice::host {

/// "<major>.<minor>", in each report as "report_version". A new member raises the minor number. The
/// removal of a member, or a change of its meaning, raises the major number. tests/interfaces
/// compares reports with those of the last release.
inline constexpr const char* kReportVersion = "2.0";

/// Returns the members that begin the report of a program: "app", which is the program's name
/// without "sluice-"; "duration_s", the seconds that were measured; and both versions.
nlohmann::ordered_json NewReport(std::string_view app, double duration_s);

/// Returns the report as text. Bytes that are not valid UTF-8 are replaced.
std::string ReportText(const nlohmann::ordered_json& report);

/// Writes the report to `path`, the value of --json: a file, "-" for standard output, or an empty
/// string for no report. Returns false and prints one line if it could not be written.
bool WriteReport(const std::string& path, const std::string& report);

}  // namespace sluice::host
