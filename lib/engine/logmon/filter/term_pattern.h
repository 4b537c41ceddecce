// SPDX-License-Identifier: BSD-3-Clause
//
// Patterns of terms: ERROR "exact phrase" %regex% -excluded, or ?one ?of ?these.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/aws_regex.h"
#include "engine/logmon/filter/cursor.h"
#include "engine/logmon/filter/filter.h"

namespace sluice::engine::logmon {

/// All of some terms, none of others, anywhere in the line. Optional terms count only if there
/// are no others: then one of them must be there. Without terms, every line matches.
class TermPattern {
 public:
  /// Reads to the end of the pattern. Nothing, and the cursor's error, if it is wrong.
  static std::optional<TermPattern> Parse(Cursor& cursor);

  bool Matches(std::string_view line) const;
  Needles GetNeedles() const;

 private:
  struct Term {
    std::string text;
    std::optional<AwsRegex> regex;  ///< Instead of the text.
    bool IsIn(std::string_view line) const;
    /// Nothing: it can be in a line that has none.
    std::optional<RegexNeedle> GetNeedle() const;
  };
  static std::optional<Term> TakeTerm(Cursor& cursor);

  std::vector<Term> all_, any_, none_;
};

}  // namespace sluice::engine::logmon
