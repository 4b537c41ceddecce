// SPDX-License-Identifier: BSD-3-Clause
//
// Converts JSON scalars to text and numbers.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "engine/logmon/filter/json_line.h"

namespace sluice::engine::logmon {

using ScalarRoom = std::array<char, 32>;

/// Returns a string's text, the shortest decimal of a number, or true or false. Returns nullopt for
/// null, arrays and objects. The text is valid while the line and `room` exist.
std::optional<std::string_view> ScalarText(const simdjson::dom::element& value, ScalarRoom& room);

/// Returns a number exactly, because the significand of a long double has at least 64 bits; nullopt
/// for other values.
std::optional<long double> ScalarNumber(const simdjson::dom::element& value);

}  // namespace sluice::engine::logmon
