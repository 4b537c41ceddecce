// SPDX-License-Identifier: BSD-3-Clause
//
// A value in a line: `$.a.b` in a JSON line, or `$field` in a space-delimited line, where `field`
// is the field's name or its number in the line, counted from 1.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/logmon/filter/filter.h"
#include "engine/logmon/filter/json_scalar.h"
#include "engine/logmon/filter/json_selector.h"

namespace sluice::engine::logmon {

/// A compiled selector; immutable.
class LineValue {
 public:
  /// Compiles `selector`, which must fit the pattern kind of `filter`. The filter may be destroyed
  /// afterwards. Returns nullopt and one line in `error` if the selector does not fit.
  static std::optional<LineValue> Compile(std::string_view selector, const Filter& filter,
                                          std::string* error);

  /// Returns the value if it is a finite number or the text of one.
  std::optional<double> NumberOf(std::string_view line, Scratch& scratch) const;
  /// Returns the value as text, which is valid while `line` and `room` exist and until `scratch` is
  /// used for another line. Returns nullopt if the line does not contain the value or if the value
  /// is null, an array or an object.
  std::optional<std::string_view> TextOf(std::string_view line, Scratch& scratch,
                                         ScalarRoom& room) const;

 private:
  LineValue() = default;
  std::optional<std::string_view> FieldOf(std::string_view line, Scratch& scratch) const;

  std::optional<JsonSelector> selector_;  // Either this or condition_ is set.
  std::shared_ptr<const Condition> condition_;
  size_t field_ = 0;  ///< Index of the field in the pattern, or in the line if by_number_.
  bool by_number_ = false;
};

}  // namespace sluice::engine::logmon
