// SPDX-License-Identifier: BSD-3-Clause
//
// The regular expressions that CloudWatch Logs takes between percent signs: letters, digits and
// : _ # = @ / ; , - and the operators ^ $ ? [ ] { } | \ * + . ; no groups, nothing beyond ASCII.
// Behind a backslash stands an operator or other punctuation, one of d D s S w W, or x and two
// digits of an ASCII character.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/logmon/filter/cursor.h"
#include "engine/logmon/filter/regex_needle.h"

namespace sluice::engine::logmon {

/// Text that is valid UTF-8 is searched as characters, other text as bytes. Immutable.
class AwsRegex {
 public:
  /// Reads %…% at the cursor; nothing, and the cursor's error, if it is none.
  static std::optional<AwsRegex> Take(Cursor& cursor);

  bool Matches(std::string_view text) const;

  /// Of lines that are searched as a whole.
  const std::optional<RegexNeedle>& line_needle() const { return line_needle_; }
  /// Of lines of which a part is searched.
  const std::optional<RegexNeedle>& part_needle() const { return part_needle_; }

 private:
  AwsRegex() = default;
  std::unique_ptr<const RE2> bytes_;
  std::unique_ptr<const RE2> characters_;  ///< Null if that makes no difference.
  std::optional<RegexNeedle> line_needle_, part_needle_;
};

}  // namespace sluice::engine::logmon
