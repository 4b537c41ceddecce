// SPDX-License-Identifier: BSD-3-Clause
//
// $.a.b[0]: a place in a JSON object; $.a[*].b: as many places as the array has elements.
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
  /// Names have letters, digits, _ and -. Nothing, and the cursor's error, if it is wrong.
  static std::optional<JsonSelector> Take(Cursor& cursor);

  /// [*] stands in it.
  bool has_wildcard() const;
  using Holds = absl::FunctionRef<bool(const simdjson::dom::element&)>;
  /// Whether it holds of one of the places that the object has. Asks about each at most once, in
  /// their order, and about none behind one of which it holds.
  bool AnyIn(const simdjson::dom::object& object, Holds holds) const;
  /// The first place; nothing if the object has none.
  std::optional<simdjson::dom::element> In(const simdjson::dom::object& object) const;
  /// Of a line whose object has the place.
  Clauses GetClauses() const;

 private:
  struct Step {
    std::string name;               ///< Of a property; empty: an element of an array, or each.
    std::optional<uint32_t> index;  ///< Nothing, without a name: each.
    bool IsEach() const { return name.empty() && !index; }
  };
  bool AnyBelow(simdjson::dom::element at, size_t step, Holds holds) const;

  std::vector<Step> steps_;
};

/// Text that a JSON string, with its quotes where they are given, has in the line. A line may
/// write it otherwise, with escapes: that takes a backslash.
Clause JsonTextClause(std::string_view text);

}  // namespace sluice::engine::logmon
