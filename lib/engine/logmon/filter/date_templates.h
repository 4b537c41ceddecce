// SPDX-License-Identifier: BSD-3-Clause
//
// fail2ban's date patterns ("%%d/%%b/%%Y", "{^LN-BEG}EPOCH", "^L {DATE}") as expressions of
// Python's (fail2ban, server/datetemplate.py and server/strptime.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

struct DateTemplate {
  std::string regex;        ///< Its first group is the time stamp.
  bool line_begin = false;  ///< Only at the beginning of a line.
  bool line_end = false;    ///< Only at its end.
};

/// What an option of patterns, a line each, stands for, in the order in which they are tried;
/// fail2ban's own ones if there is none.
std::vector<DateTemplate> DateTemplatesOf(std::string_view option);

}  // namespace sluice::engine::logmon
