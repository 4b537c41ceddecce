// SPDX-License-Identifier: BSD-3-Clause
//
// A Python regular expression. It is compiled for RE2, which runs in time linear in the text. If
// RE2 does not support the expression, it is compiled for PCRE2 with limits.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/pcre2_regex.h"
#include "engine/logmon/filter/regex_syntax.h"

namespace sluice::engine::logmon {

/// Scratch memory with which one thread searches for all expressions.
struct RegexMemory {
  Pcre2Memory pcre2;
  /// Groups of the last successful Search; group 0 is the whole match. The view of a group that did
  /// not participate has no data.
  std::vector<std::string_view> groups;
  std::vector<re2::StringPiece> pieces;  ///< The groups in RE2's type.

  /// Returns the match of group `number`, or a view without data if `number` is negative.
  std::string_view group(int number) const {
    return number >= 0 ? groups[static_cast<size_t>(number)] : std::string_view();
  }
};

/// A compiled expression; immutable. Text may be any bytes.
class LineRegex {
 public:
  /// Returns nullopt and one line of ASCII in `error` if neither engine accepts the expression.
  static std::optional<LineRegex> Compile(std::string_view python, bool multi_line,
                                          std::string* error);

  /// Returns whether the expression matches anywhere in `text`.
  bool Matches(std::string_view text, RegexMemory& memory) const;
  /// Like Matches, but also stores the groups of the first match in `memory`.
  bool Search(std::string_view text, RegexMemory& memory) const;

  /// Returns the number of the group, or -1 if the name is unknown.
  int GroupOf(std::string_view name) const;
  /// Returns the names of the groups in alphabetical order.
  std::vector<std::string> names() const;
  /// Returns the expression's tree, if ParseRegex supports the syntax.
  const std::optional<RegexTree>& tree() const { return tree_; }
  bool is_linear() const { return re2_ != nullptr; }

 private:
  LineRegex() = default;
  const std::map<std::string, int>& numbers() const;

  std::unique_ptr<const RE2> re2_;  ///< Either this or pcre2_ is set.
  std::unique_ptr<const Pcre2Regex> pcre2_;
  std::optional<RegexTree> tree_;
};

}  // namespace sluice::engine::logmon
