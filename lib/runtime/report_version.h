// SPDX-License-Identifier: BSD-3-Clause
//
// The version of the JSON reports of all programs (docs/command-line.md, "The JSON report").
#pragma once

namespace sluice::runtime {

/// "<major>.<minor>", in each report as "report_version". A new member raises the minor number. The
/// removal of a member, or a change of its meaning, raises the major number. tests/interfaces
/// compares reports with those of the last release.
inline constexpr const char* kReportVersion = "1.1";

}  // namespace sluice::runtime
