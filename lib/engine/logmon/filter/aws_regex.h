// SPDX-License-Identifier: BSD-3-Clause
//
// Regular expressions that CloudWatch Logs accepts between percent signs: letters, digits and : _ #
// = @ / ; , - and the operators ^ $ ? [ ] { } | \ * + . ; no groups, only ASCII. A backslash is
// followed by an operator or other punctuation, one of d D s S w W, or x and two hexadecimal digits
// of an ASCII character.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/logmon/filter/cursor.h"
#include "engine/logmon/filter/regex_needle.h"

namespace sluice::engine::logmon {

/// A compiled expression. Searches valid UTF-8 as characters and other text as bytes. Immutable.
class AwsRegex {
 public:
  /// Parses %…% at the cursor. Returns nullopt and sets the cursor's error if it is invalid.
  static std::optional<AwsRegex> Parse(Cursor& cursor);

  bool Matches(std::string_view text) const;

  /// Returns the needle for searching a whole line.
  const std::optional<RegexNeedle>& line_needle() const { return line_needle_; }
  /// Returns the needle for searching a part of a line.
  const std::optional<RegexNeedle>& part_needle() const { return part_needle_; }

 private:
  AwsRegex() = default;
  std::unique_ptr<const RE2> bytes_;
  std::unique_ptr<const RE2> characters_;  ///< Null if it would match the same texts as bytes_.
  std::optional<RegexNeedle> line_needle_, part_needle_;
};

}  // namespace sluice::engine::logmon
