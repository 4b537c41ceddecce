// SPDX-License-Identifier: BSD-3-Clause
//
// A line read as JSON, once for all filters that ask.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

/// Remembers the last line. One thread's. Allocates when a line is longer than all before.
class JsonLine {
 public:
  /// The line's object; null if the line is not exactly one JSON object (RFC 8259), is no valid
  /// UTF-8, or is nested more than 1024 deep. Values that simdjson does not read are what
  /// RepairJson makes of them. Of a name that occurs twice in an object, lookups see the first.
  /// Valid until the next call.
  const simdjson::dom::object* Parse(std::string_view line);
  /// Lines that begin with `{`, a space aside, and are no such object.
  uint64_t unread() const { return unread_; }

 private:
  bool ParseText();

  simdjson::dom::parser parser_;
  std::vector<char> text_;  // The line, and as many bytes more as simdjson reads beyond.
  size_t bytes_ = 0;
  std::string repaired_;
  uint64_t unread_ = 0;
  bool has_line_ = false;
  bool is_object_ = false;
  simdjson::dom::object object_;
};

}  // namespace sluice::engine::logmon
