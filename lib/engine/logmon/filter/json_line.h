// SPDX-License-Identifier: BSD-3-Clause
//
// A line read as JSON, once for all filters that ask.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

/// Remembers the last line. One thread's. Allocates when a line is longer than all before.
class JsonLine {
 public:
  /// The line's object; null if the line is not exactly one JSON object (RFC 8259), is no valid
  /// UTF-8, is nested more than 1024 deep, or has a number that no double and no 64-bit integer
  /// holds. Of a name that occurs twice in an object, lookups see the first. Valid until the next
  /// call.
  const simdjson::dom::object* Parse(std::string_view line);

 private:
  simdjson::dom::parser parser_;
  std::vector<char> text_;  // The line, and as many bytes more as simdjson reads beyond.
  size_t bytes_ = 0;
  bool has_line_ = false;
  bool is_object_ = false;
  simdjson::dom::object object_;
};

}  // namespace sluice::engine::logmon
