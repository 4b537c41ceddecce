// SPDX-License-Identifier: BSD-3-Clause
//
// Replaces values that JSON (RFC 8259) allows but simdjson cannot read.
#pragma once

#include <limits>
#include <string>
#include <string_view>

namespace sluice::engine::logmon {

/// Replacement for all numbers that are greater than any double.
inline constexpr double kBeyondDouble = std::numeric_limits<double>::max();

/// Sets `readable` to `json` with each value that simdjson cannot read replaced by the nearest one
/// that it can. An integer of more than 64 bits becomes the nearest double, a number out of range
/// becomes kBeyondDouble with its sign, and an unpaired surrogate becomes U+FFFD. Invalid text
/// stays invalid.
void RepairJson(std::string_view json, std::string* readable);

}  // namespace sluice::engine::logmon
