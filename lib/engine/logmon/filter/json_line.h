// SPDX-License-Identifier: BSD-3-Clause
//
// Parses a line as JSON once for all filters that need it.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

/// A parser that caches the last line. Used by one thread. Allocates memory when a line is longer
/// than all earlier ones.
class JsonLine {
 public:
  /// Returns the object in the line, valid until the next call. Returns null if the line is not
  /// exactly one JSON object (RFC 8259), is invalid UTF-8, or has more than 1024 levels. Values
  /// that simdjson cannot read are replaced by RepairJson. If a name occurs twice in an object,
  /// lookups return the first.
  const simdjson::dom::object* Parse(std::string_view line);
  /// Returns the number of lines that start with `{`, after white space, but are not valid objects.
  uint64_t unread() const { return unread_; }

 private:
  bool ParseText();

  simdjson::dom::parser parser_;
  std::vector<char> text_;  // The line, followed by the padding that simdjson may read.
  size_t bytes_ = 0;
  std::string repaired_;
  uint64_t unread_ = 0;
  bool has_line_ = false;
  bool is_object_ = false;
  simdjson::dom::object object_;
};

}  // namespace sluice::engine::logmon
