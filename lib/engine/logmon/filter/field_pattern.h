// SPDX-License-Identifier: BSD-3-Clause
//
// Conditions on the fields of a space-delimited line: [ip, user, ..., request = "*.html*", status =
// 4* && status != 404, bytes > 1000].
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

/// Field names are optional. An ellipsis matches any number of fields and may occur once. Without
/// it, the line must have as many fields as the pattern. [] equals [...].
class FieldPattern {
 public:
  /// Parses the pattern to its end; the next byte must be [. Returns nullopt and sets the cursor's
  /// error if it is invalid.
  static std::optional<FieldPattern> Parse(Cursor& cursor);

  /// Returns whether `line` matches. `fields` is scratch memory.
  bool Matches(std::string_view line, std::vector<std::string_view>& fields) const;
  Needles GetNeedles() const;
  std::vector<std::string> names() const;
  /// Returns whether a matching line may have `fields` or more fields.
  bool MayHave(size_t fields) const { return dots_ || fields <= fields_.size(); }
  /// Returns the name of field `number` (from 0) in a line with `count` fields; empty if the
  /// pattern does not name it.
  std::string_view NameOf(size_t number, size_t count) const;

  /// Stores in `fields` the fields that the pattern lists, in the order of the pattern. Returns
  /// false if the line has too few or too many fields.
  bool Split(std::string_view line, std::vector<std::string_view>& fields) const;

 private:
  struct Field {
    std::string name;
    std::optional<Expression<Comparison>> condition;
  };
  static std::optional<Field> ParseField(Cursor& cursor, int* regexes);
  /// Returns false and sets the cursor's error if the fields are invalid.
  bool ParseFields(Cursor& cursor);

  std::vector<Field> fields_;
  std::optional<size_t> dots_;  // Number of the field after the ellipsis.
};

}  // namespace sluice::engine::logmon
