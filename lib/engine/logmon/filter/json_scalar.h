// SPDX-License-Identifier: BSD-3-Clause
//
// Scalars of JSON as text and as numbers.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "engine/logmon/filter/json_line.h"

namespace sluice::engine::logmon {

using ScalarRoom = std::array<char, 32>;

/// A string's text; a number as the shortest decimal that is it; true or false. Nothing of null,
/// arrays and objects. Valid as long as the line and `room`.
std::optional<std::string_view> ScalarText(const simdjson::dom::element& value, ScalarRoom& room);

/// A number; nothing of anything else. Exact, as a long double has at least 64 bits.
std::optional<long double> ScalarNumber(const simdjson::dom::element& value);

}  // namespace sluice::engine::logmon
