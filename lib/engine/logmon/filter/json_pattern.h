// SPDX-License-Identifier: BSD-3-Clause
//
// Conditions on a line that is a JSON object: { $.a.b = "x*" && ($.n > 1e3 || $.flag IS TRUE) }.
#pragma once

#include <optional>
#include <string_view>

#include "engine/logmon/filter/comparison.h"
#include "engine/logmon/filter/cursor.h"
#include "engine/logmon/filter/expression.h"
#include "engine/logmon/filter/filter.h"
#include "engine/logmon/filter/json_selector.h"

namespace sluice::engine::logmon {

/// For a missing property, only NOT EXISTS holds. For objects and arrays, no condition holds. A
/// quoted text equals only strings. An unquoted text or a regular expression is also compared with
/// the text of numbers (as shortest decimals), true and false; an unquoted * equals all of these.
/// If the selector contains [*], a condition holds if it holds for at least one element; NOT EXISTS
/// holds if no element exists.
class JsonPattern {
 public:
  /// Parses the pattern to its end; the next byte must be {. Returns nullopt and sets the cursor's
  /// error if it is invalid.
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
  static std::optional<Leaf> ParseLeaf(Cursor& cursor, int* regexes);

  Expression<Leaf> expression_;
};

}  // namespace sluice::engine::logmon
