// SPDX-License-Identifier: BSD-3-Clause
//
// Splits a line into fields at spaces and tabs: "two words" and [two words] are one field each.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace sluice::engine::logmon {

/// A field that starts with a quote or a bracket ends after the next closing one; its text excludes
/// both: 'a' for "a". If a byte other than a space or tab follows, the field extends to the next
/// space or tab, and its text includes everything. \" does not close a field. An opening byte that
/// is not closed is normal text. The time to read all fields is linear in the length of the line.
class FieldReader {
 public:
  explicit FieldReader(std::string_view line) : line_(line) {}

  /// Returns the next field, or nullopt after the last one.
  std::optional<std::string_view> Next();

 private:
  size_t FindClose(char close, size_t from);

  std::string_view line_;
  size_t at_ = 0;
  // The rest of the line is known not to contain a closing quote or bracket.
  bool no_quote_ = false;
  bool no_bracket_ = false;
};

}  // namespace sluice::engine::logmon
