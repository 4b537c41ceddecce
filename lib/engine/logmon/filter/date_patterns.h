// SPDX-License-Identifier: BSD-3-Clause
//
// Time stamps of lines, which fail2ban takes out before it looks at them (fail2ban, jail.conf(5),
// "datepattern"; its server/datedetector.py and server/datetemplate.py).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/pcre2_regex.h"

namespace sluice::engine::logmon {

/// Immutable.
class DatePatterns {
 public:
  /// `option`: patterns, a line each; empty: fail2ban's own. Nothing, and one line in `error`, if
  /// one is no expression.
  static std::optional<DatePatterns> Compile(std::string_view option, std::string* error);

  struct Span {
    size_t begin = 0, end = 0;
  };
  /// Where the time stamp is; empty if the line has none. A pattern that is bound to the edge of
  /// the line counts before others, and of those the one that is found nearest to its beginning.
  /// (fail2ban also learns from earlier lines; here, a line is judged by itself.)
  Span Find(std::string_view line, Pcre2Memory& memory,
            std::vector<std::string_view>* groups) const;

 private:
  struct Pattern {
    std::unique_ptr<const Pcre2Regex> regex;  ///< Its first group is the time stamp.
    bool at_edge = false;                     ///< Of the line.
  };
  DatePatterns() = default;

  std::vector<Pattern> patterns_;
};

}  // namespace sluice::engine::logmon
