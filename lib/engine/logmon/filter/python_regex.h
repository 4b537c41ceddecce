// SPDX-License-Identifier: BSD-3-Clause
//
// Translates Python regular expressions (module re), in which fail2ban's filters are written.
#pragma once

#include <string>
#include <string_view>

namespace sluice::engine::logmon {

/// Returns `expression` in the syntax that RE2 and PCRE2 share, or in PCRE2's syntax if only PCRE2
/// supports a construct. Translates constructs that differ or do not exist there: \Z, \s, \v, $,
/// {,n}, (?(name)…), (?#…), the flags a, L and u, and some bytes in a class. The result treats text
/// as bytes: \w, \d, \s and \b apply to ASCII only. `multi_line` acts as re.MULTILINE. An invalid
/// expression stays invalid.
std::string FromPython(std::string_view expression, bool multi_line = false);

}  // namespace sluice::engine::logmon
