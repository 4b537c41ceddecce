// SPDX-License-Identifier: BSD-3-Clause
//
// --test_filter: matches lines of standard input with a pattern; the answer has the format of
// CloudWatch's test-metric-filter.
#pragma once

#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace sluice::logmon {

/// Returns {"matches": [{"eventNumber": 1, "eventMessage": …, "extractedValues": {…}}]}; lines
/// count from 1. Values of a space-delimited pattern are its fields. Returns nullopt, with one line
/// in `error`, if the pattern is wrong.
std::optional<nlohmann::ordered_json> TestFilter(const std::string& pattern, std::istream& lines,
                                                 std::string* error);

}  // namespace sluice::logmon
