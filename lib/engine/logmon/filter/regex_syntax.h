// SPDX-License-Identifier: BSD-3-Clause
//
// A regular expression as a tree: what is needed to say what Hyperscan shall look for.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

struct RegexNode {
  enum class Kind : uint8_t {
    kSet,       ///< One byte, of `set`.
    kBegin,     ///< Empty, at the beginning of the text.
    kEnd,       ///< Empty, at its end.
    kAssert,    ///< Empty, where something else holds: a word boundary.
    kSequence,  ///< The children, one behind the other; without any: empty.
    kChoice,    ///< One of the children.
    kRepeat,    ///< The only child, `min` to `max` times.
  };
  static constexpr uint32_t kUnbounded = UINT32_MAX;

  Kind kind = Kind::kSequence;
  std::bitset<256> set = {};
  uint32_t min = 0, max = 0;
  std::vector<RegexNode> children = {};
};

struct RegexTree {
  RegexNode root;
  /// The tree matches more than the expression: look-around, conditions and back-references are
  /// left to who runs it, as are the bytes beyond ASCII that differ in case only.
  bool is_wider = false;
};

/// The tree of an expression that RE2 (in Latin-1) or PCRE2 (in bytes) accepts. Nothing if it uses
/// what few do: Unicode and POSIX classes, octal escapes, quoting with \Q, the flag x, groups
/// nested more than 64 deep.
std::optional<RegexTree> ParseRegex(std::string_view expression);

}  // namespace sluice::engine::logmon
