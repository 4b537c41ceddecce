// SPDX-License-Identifier: BSD-3-Clause
//
// From a regular expression that is asked about one line to one that Hyperscan looks for in many
// lines at once.
#pragma once

#include <optional>

#include "engine/logmon/filter/filter.h"
#include "engine/logmon/filter/regex_syntax.h"

namespace sluice::engine::logmon {

struct RegexNeedle {
  Needle needle;
  bool is_exact = false;  ///< A text matches if and only if it has the needle.
};

struct RegexNeedleOptions {
  /// Text that is valid UTF-8 is read as characters, and a set with bytes beyond ASCII has all of
  /// them: it stands for a character of any length. Otherwise a set stands for one byte.
  bool characters = false;
  /// What is searched is the line, and not a part of it that begins and ends somewhere.
  bool whole_line = true;
};

/// Compiled with HS_FLAG_MULTILINE, it is found in every line that the tree matches. Nothing if
/// the tree matches the empty text, no line at all, or would need thousands of states or
/// bytes.
std::optional<RegexNeedle> NeedleOf(const RegexTree& tree, RegexNeedleOptions options);

}  // namespace sluice::engine::logmon
