// SPDX-License-Identifier: BSD-3-Clause
//
// Term patterns: ERROR "exact phrase" %regex% -excluded, or ?one ?of ?these.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/aws_regex.h"
#include "engine/logmon/filter/cursor.h"
#include "engine/logmon/filter/filter.h"

namespace sluice::engine::logmon {

/// Requires that the line contains all of some terms and none of others. Optional terms count only
/// if there are no other terms; then the line must contain one of them. Without terms, every line
/// matches.
class TermPattern {
 public:
  /// Parses the pattern to its end. Returns nullopt and sets the cursor's error if it is invalid.
  static std::optional<TermPattern> Parse(Cursor& cursor);

  bool Matches(std::string_view line) const;
  Needles GetNeedles() const;

 private:
  struct Term {
    std::string text;
    std::optional<AwsRegex> regex;  ///< If set, used instead of the text.
    bool IsIn(std::string_view line) const;
    /// Returns nullopt if the term may match a line without any needle.
    std::optional<RegexNeedle> GetNeedle() const;
  };
  static std::optional<Term> ParseTerm(Cursor& cursor);

  std::vector<Term> all_, any_, none_;
};

}  // namespace sluice::engine::logmon
