// SPDX-License-Identifier: BSD-3-Clause
//
// $.a.b[0]: a place in a JSON object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/logmon/filter/clauses.h"
#include "engine/logmon/filter/cursor.h"
#include "engine/logmon/filter/json_line.h"

namespace sluice::engine::logmon {

class JsonSelector {
 public:
  /// Names have letters, digits, _ and -. Nothing, and the cursor's error, if it is wrong.
  static std::optional<JsonSelector> Take(Cursor& cursor);

  /// Nothing if the object has no such place.
  std::optional<simdjson::dom::element> In(const simdjson::dom::object& object) const;
  /// Of a line whose object has the place.
  Clauses GetClauses() const;

 private:
  struct Step {
    std::string name;  ///< Unless there is an index.
    std::optional<uint32_t> index;
  };
  std::vector<Step> steps_;
};

/// Text that a JSON string, with its quotes where they are given, has in the line. A line may
/// write it otherwise, with escapes: that takes a backslash.
Clause JsonTextClause(std::string_view text);

}  // namespace sluice::engine::logmon
