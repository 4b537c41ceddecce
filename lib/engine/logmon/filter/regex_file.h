// SPDX-License-Identifier: BSD-3-Clause
//
// Files of regular expressions: one a line, or fail2ban's filter.d/*.conf.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::engine::logmon {

struct RegexFile {
  /// A line says [Definition]: the file is one for Filter::Fail2ban.
  bool is_fail2ban = false;
  /// Else: its expressions, for Filter::Regex. Empty lines and those that begin with # say nothing.
  std::vector<std::string> expressions;
};

/// `file` may be one with options (SplitOptions). Nothing, and one line in `error`, if a file
/// cannot be read or has more than a MiB.
std::optional<RegexFile> ReadRegexFile(const std::filesystem::path& file, std::string* error);

}  // namespace sluice::engine::logmon
