// SPDX-License-Identifier: BSD-3-Clause
//
// Parses a regular expression into a tree, from which needles for Hyperscan are derived.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

struct RegexNode {
  enum class Kind : uint8_t {
    kSet,       ///< One byte out of `set`.
    kBegin,     ///< The empty string, at the start of the text.
    kEnd,       ///< The empty string, at the end of the text.
    kAssert,    ///< The empty string, under another condition such as a word boundary.
    kSequence,  ///< The children in order; the empty string if there are none.
    kChoice,    ///< One of the children.
    kRepeat,    ///< The only child, repeated `min` to `max` times.
  };
  static constexpr uint32_t kUnbounded = UINT32_MAX;

  Kind kind = Kind::kSequence;
  std::bitset<256> set = {};
  uint32_t min = 0, max = 0;
  std::vector<RegexNode> children = {};
};

struct RegexTree {
  RegexNode root;
  /// The tree matches more texts than the expression, even apart from kAssert. It does not
  /// represent conditions, back-references, atomic groups, possessive repetitions or the case of
  /// non-ASCII bytes, which only the regex engine checks.
  bool is_wider = false;
};

/// Returns the tree of an expression that RE2 (in Latin-1) or PCRE2 (in bytes) accepts. Returns
/// nullopt for rare syntax, such as Unicode and POSIX classes, octal escapes, quoting with \Q, and
/// the flag x, and for more than 64 levels of groups or 1000 repetitions.
std::optional<RegexTree> ParseRegex(std::string_view expression);

}  // namespace sluice::engine::logmon
