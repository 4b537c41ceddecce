// SPDX-License-Identifier: BSD-3-Clause
//
// Values that JSON allows (RFC 8259) and simdjson does not read.
#pragma once

#include <limits>
#include <string>
#include <string_view>

namespace sluice::engine::logmon {

/// The number that stands for all that are greater than any double.
inline constexpr double kBeyondDouble = std::numeric_limits<double>::max();

/// Sets `readable` to the text with the nearest values that simdjson reads: an integer that 64 bits
/// do not hold becomes the nearest double, a number beyond all doubles kBeyondDouble, with its
/// sign, and half a pair of surrogates U+FFFD. What is wrong stays wrong.
void RepairJson(std::string_view json, std::string* readable);

}  // namespace sluice::engine::logmon
