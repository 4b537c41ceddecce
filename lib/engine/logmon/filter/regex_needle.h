// SPDX-License-Identifier: BSD-3-Clause
//
// Converts a regular expression for one line to an expression that Hyperscan can search for in many
// lines at once.
#pragma once

#include <optional>

#include "engine/logmon/filter/filter.h"
#include "engine/logmon/filter/regex_syntax.h"

namespace sluice::engine::logmon {

struct RegexNeedle {
  Needle needle;
  bool is_exact = false;  ///< A text matches if and only if it contains the needle.
};

struct RegexNeedleOptions {
  /// True: valid UTF-8 text is parsed as characters; a set with non-ASCII bytes contains all of
  /// them and matches one character of any length. False: a set matches one byte.
  bool characters = false;
  /// The whole line is searched for the expression, not only a part of it.
  bool whole_line = true;
};

/// Returns a needle that, compiled with HS_FLAG_MULTILINE, is found in every line that the tree
/// matches. Returns nullopt if the tree matches the empty string or no line, or would need
/// thousands of states or bytes.
std::optional<RegexNeedle> NeedleOf(const RegexTree& tree, RegexNeedleOptions options);

}  // namespace sluice::engine::logmon
