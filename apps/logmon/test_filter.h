// SPDX-License-Identifier: BSD-3-Clause
//
// --test_filter: which lines of standard input a pattern matches, answered as CloudWatch's
// test-metric-filter answers.
#pragma once

#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace sluice::logmon {

/// {"matches": [{"eventNumber": 1, "eventMessage": …, "extractedValues": {…}}]}; lines count from
/// 1. Of a space-delimited pattern the values are its fields. Nothing, and one line in `error`, if
/// the pattern is wrong.
std::optional<nlohmann::ordered_json> TestFilter(const std::string& pattern, std::istream& lines,
                                                 std::string* error);

}  // namespace sluice::logmon
