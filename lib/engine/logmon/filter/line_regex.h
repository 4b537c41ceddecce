// SPDX-License-Identifier: BSD-3-Clause
//
// A regular expression of Python's, compiled for the engine that can run it: RE2, in time linear in
// the text; PCRE2 for what RE2 cannot express, within limits.
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

/// What searching takes, one thread's, for all expressions.
struct RegexMemory {
  Pcre2Memory pcre2;
  /// Of the last Search that found something: what its groups matched, 0 for all of it; without
  /// data where a group has nothing.
  std::vector<std::string_view> groups;
  std::vector<re2::StringPiece> pieces;  ///< RE2's words for them.

  /// What group `number` matched; without data if that is no group's number.
  std::string_view group(int number) const {
    return number >= 0 ? groups[static_cast<size_t>(number)] : std::string_view();
  }
};

/// Immutable. Text is any bytes.
class LineRegex {
 public:
  /// Nothing, and one line of ASCII in `error`, if neither engine takes it.
  static std::optional<LineRegex> Compile(std::string_view python, bool multi_line,
                                          std::string* error);

  /// Whether it is somewhere in `text`.
  bool Matches(std::string_view text, RegexMemory& memory) const;
  /// The same, and `memory` has the groups of the first match.
  bool Search(std::string_view text, RegexMemory& memory) const;

  /// -1 if it has no group of that name.
  int GroupOf(std::string_view name) const;
  /// Names of groups, in the order of the alphabet.
  std::vector<std::string> names() const;
  /// Nothing where the syntax is beyond ParseRegex.
  const std::optional<RegexTree>& tree() const { return tree_; }
  bool is_linear() const { return re2_ != nullptr; }

 private:
  LineRegex() = default;
  const std::map<std::string, int>& numbers() const;

  std::unique_ptr<const RE2> re2_;  ///< Or:
  std::unique_ptr<const Pcre2Regex> pcre2_;
  std::optional<RegexTree> tree_;
};

}  // namespace sluice::engine::logmon
