// SPDX-License-Identifier: BSD-3-Clause
//
// Converts fail2ban's date patterns ("%%d/%%b/%%Y", "{^LN-BEG}EPOCH", "^L {DATE}") to Python
// regular expressions (fail2ban, server/datetemplate.py and server/strptime.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

struct DateTemplate {
  std::string regex;        ///< Group 1 is the time stamp.
  bool line_begin = false;  ///< Matches only at the start of a line.
  bool line_end = false;    ///< Matches only at the end of a line.
};

/// Returns the templates for an option with one pattern per line, in the order in which they are
/// tried. An empty option yields fail2ban's defaults.
std::vector<DateTemplate> DateTemplatesOf(std::string_view option);

}  // namespace sluice::engine::logmon
