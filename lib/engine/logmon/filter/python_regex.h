// SPDX-License-Identifier: BSD-3-Clause
//
// Regular expressions of Python (its module re), which fail2ban's filters are written in.
#pragma once

#include <string>
#include <string_view>

namespace sluice::engine::logmon {

/// `expression` in the syntax that RE2 and PCRE2 share, or in PCRE2's where only that has the
/// construct. \Z, \s, \v, $, {,n}, (?(name)…), (?#…) and the flags a, L and u mean something else
/// there, or nothing; so do some bytes in a class. Text is bytes: \w, \d, \s and \b know ASCII.
/// `multi_line`: as if compiled with re.MULTILINE. What is no expression stays none.
std::string FromPython(std::string_view expression, bool multi_line = false);

}  // namespace sluice::engine::logmon
