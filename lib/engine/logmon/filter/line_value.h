// SPDX-License-Identifier: BSD-3-Clause
//
// A value in a line: `$.a.b` of a JSON line, or `$field` of a space-delimited one: the field's
// name, or its number in the line, from 1.
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

/// Immutable.
class LineValue {
 public:
  /// `selector` must fit `filter`'s kind of pattern; the filter may be gone afterwards. Nothing,
  /// and one line in `error`, if not.
  static std::optional<LineValue> Compile(std::string_view selector, const Filter& filter,
                                          std::string* error);

  /// The finite number that it is, or that its text is.
  std::optional<double> NumberOf(std::string_view line, Scratch& scratch) const;
  /// Valid as long as `line`, `room` and `scratch`'s last line. Nothing of null, arrays, objects.
  std::optional<std::string_view> TextOf(std::string_view line, Scratch& scratch,
                                         ScalarRoom& room) const;

 private:
  LineValue() = default;
  std::optional<std::string_view> FieldOf(std::string_view line, Scratch& scratch) const;

  std::optional<JsonSelector> selector_;  // Or:
  std::shared_ptr<const Condition> condition_;
  size_t field_ = 0;  ///< Of the pattern; or, if by_number_, of the line.
  bool by_number_ = false;
};

}  // namespace sluice::engine::logmon
