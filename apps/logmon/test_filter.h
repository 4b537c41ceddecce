// SPDX-License-Identifier: BSD-3-Clause
//
// --test_filter: matches the lines of standard input against a pattern, and answers in the format
// of CloudWatch's test-metric-filter.
#pragma once

#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace sluice::logmon {

/// Returns {"matches": [{"eventNumber": 1, "eventMessage": …, "extractedValues": {…}}]}; lines are
/// numbered from 1. The values extracted by a space-delimited pattern are its fields. Returns
/// nullopt and sets `error` if the pattern is invalid.
std::optional<nlohmann::ordered_json> TestFilter(const std::string& pattern, std::istream& lines,
                                                 std::string* error);

}  // namespace sluice::logmon
