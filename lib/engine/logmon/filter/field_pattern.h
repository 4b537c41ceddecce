// SPDX-License-Identifier: BSD-3-Clause
//
// [ip, user, ..., request = "*.html*", status = 4* && status != 404, bytes > 1000]: conditions on
// the fields of a space-delimited line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/comparison.h"
#include "engine/logmon/filter/cursor.h"
#include "engine/logmon/filter/expression.h"
#include "engine/logmon/filter/filter.h"

namespace sluice::engine::logmon {

/// Names may be left out. Three dots stand for any number of fields, once; without them a line
/// has as many fields as the pattern. [] is [...].
class FieldPattern {
 public:
  /// Reads to the end of the pattern; [ is next. Nothing, and the cursor's error, if it is wrong.
  static std::optional<FieldPattern> Parse(Cursor& cursor);

  /// `fields` is room for them.
  bool Matches(std::string_view line, std::vector<std::string_view>& fields) const;
  Needles GetNeedles() const;
  std::vector<std::string> names() const;
  /// Whether a line that matches may have so many fields.
  bool MayHave(size_t fields) const { return dots_ || fields <= fields_.size(); }
  /// Of field `number` of a line with `count` fields, from 0; empty if the pattern does not name
  /// it.
  std::string_view NameOf(size_t number, size_t count) const;

  /// Those of the line that the pattern lists, in its order; false if their number is wrong.
  bool Split(std::string_view line, std::vector<std::string_view>& fields) const;

 private:
  struct Field {
    std::string name;
    std::optional<Expression<Comparison>> condition;
  };
  static std::optional<Field> TakeField(Cursor& cursor, int* regexes);
  /// Returns false, and sets the cursor's error, if they are wrong.
  bool TakeFields(Cursor& cursor);

  std::vector<Field> fields_;
  std::optional<size_t> dots_;  // They stand before the field of this number.
};

}  // namespace sluice::engine::logmon
