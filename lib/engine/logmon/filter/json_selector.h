// SPDX-License-Identifier: BSD-3-Clause
//
// Selects values in a JSON object: $.a.b[0] selects one value; $.a[*].b selects one value per
// element of the array.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/logmon/filter/clauses.h"
#include "engine/logmon/filter/cursor.h"
#include "engine/logmon/filter/json_line.h"

namespace sluice::engine::logmon {

class JsonSelector {
 public:
  /// Parses a selector; names consist of letters, digits, _ and -. Returns nullopt and sets the
  /// cursor's error if it is invalid.
  static std::optional<JsonSelector> Parse(Cursor& cursor);

  /// Returns whether the selector contains [*].
  bool has_wildcard() const;
  using Holds = absl::FunctionRef<bool(const simdjson::dom::element&)>;
  /// Returns whether `holds` returns true for any of the selected values of `object`. Calls `holds`
  /// at most once per value, in order, and not again after it has returned true.
  bool AnyIn(const simdjson::dom::object& object, Holds holds) const;
  /// Returns the first selected value, or nullopt if the object has none.
  std::optional<simdjson::dom::element> In(const simdjson::dom::object& object) const;
  /// Returns the clauses for lines with an object that has a selected value.
  Clauses GetClauses() const;

 private:
  struct Step {
    /// Name of a property; empty: the step selects one or all elements of an array.
    std::string name;
    std::optional<uint32_t> index;  ///< Not set and without a name: all elements.
    bool IsEach() const { return name.empty() && !index; }
  };
  bool AnyBelow(simdjson::dom::element at, size_t step, Holds holds) const;

  std::vector<Step> steps_;
};

/// Returns a clause for lines with a JSON string that contains `text`. A quote at the start or end
/// of `text` is the string's delimiter. Lines with a backslash also satisfy the clause, because
/// they may contain the text with escapes.
Clause JsonTextClause(std::string_view text);

}  // namespace sluice::engine::logmon
