// SPDX-License-Identifier: BSD-3-Clause
//
// Repairs values that JSON allows (RFC 8259) but simdjson cannot read.
#pragma once

#include <limits>
#include <string>
#include <string_view>

namespace sluice::engine::logmon {

/// Replaces all numbers that are greater than any double.
inline constexpr double kBeyondDouble = std::numeric_limits<double>::max();

/// Sets `readable` to the text with the nearest values that simdjson can read: an integer of more
/// than 64 bits becomes the nearest double, a number out of range kBeyondDouble with its sign, and
/// an unpaired surrogate U+FFFD. Invalid text stays invalid.
void RepairJson(std::string_view json, std::string* readable);

}  // namespace sluice::engine::logmon
