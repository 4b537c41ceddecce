// SPDX-License-Identifier: BSD-3-Clause
//
// { $.a.b = "x*" && ($.n > 1e3 || $.flag IS TRUE) }: conditions on a line that is a JSON object.
#pragma once

#include <optional>
#include <string_view>

#include "engine/logmon/filter/comparison.h"
#include "engine/logmon/filter/cursor.h"
#include "engine/logmon/filter/expression.h"
#include "engine/logmon/filter/filter.h"
#include "engine/logmon/filter/json_selector.h"

namespace sluice::engine::logmon {

/// What holds of a property that is absent, an object or an array: only NOT EXISTS, if absent.
/// A quoted text equals strings only; a bare one and a regular expression see numbers (as
/// shortest decimals) and true and false as text, too; a bare * equals all of these. With [*] in
/// the selector, it holds if it holds of one element; NOT EXISTS, if there is no such place at all.
class JsonPattern {
 public:
  /// Reads to the end of the pattern; { is next. Nothing, and the cursor's error, if it is wrong.
  static std::optional<JsonPattern> Parse(Cursor& cursor);

  bool Matches(std::string_view line, JsonLine& json) const;
  Needles GetNeedles() const;

 private:
  enum class Test { kComparison, kIsNull, kIsTrue, kIsFalse, kNotExists };
  struct Leaf {
    JsonSelector selector;
    Test test = Test::kComparison;
    std::optional<Comparison> comparison;
    bool HoldsIn(const simdjson::dom::object& object) const;
    Clauses GetClauses() const;
  };
  explicit JsonPattern(Expression<Leaf> expression) : expression_(std::move(expression)) {}
  static std::optional<Leaf> TakeLeaf(Cursor& cursor, int* regexes);

  Expression<Leaf> expression_;
};

}  // namespace sluice::engine::logmon
