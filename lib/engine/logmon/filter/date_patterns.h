// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the time stamps in lines, which fail2ban removes before it searches a line (fail2ban,
// jail.conf(5), "datepattern"; its server/datedetector.py and server/datetemplate.py).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/pcre2_regex.h"

namespace sluice::engine::logmon {

/// Compiled time stamp patterns; immutable.
class DatePatterns {
 public:
  /// Compiles `option`: one pattern per line; empty: fail2ban's defaults. Returns nullopt and one
  /// line in `error` if a pattern is invalid.
  static std::optional<DatePatterns> Compile(std::string_view option, std::string* error);

  struct Span {
    size_t begin = 0, end = 0;
  };
  /// Returns the position of the time stamp; an empty span if the line has none. The first match of
  /// a pattern that is bound to the start or end of the line wins. If no such pattern matches, the
  /// match that is nearest to the start of the line wins. (fail2ban also learns from earlier lines;
  /// here each line is parsed independently.)
  Span Find(std::string_view line, Pcre2Memory& memory,
            std::vector<std::string_view>* groups) const;

 private:
  struct Pattern {
    std::unique_ptr<const Pcre2Regex> regex;  ///< Group 1 is the time stamp.
    bool at_edge = false;                     ///< Bound to the start or end of the line.
  };
  DatePatterns() = default;

  std::vector<Pattern> patterns_;
};

}  // namespace sluice::engine::logmon
