// SPDX-License-Identifier: BSD-3-Clause
//
// Reads files of regular expressions: one per line, or fail2ban's filter.d/*.conf.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::engine::logmon {

struct RegexFile {
  /// The file contains a line [Definition] and must be read with Filter::Fail2ban.
  bool is_fail2ban = false;
  /// If not is_fail2ban: expressions for Filter::Regex. Empty lines and lines that start with # are
  /// ignored.
  std::vector<std::string> expressions;
};

/// Reads `file`, which may have options (SplitOptions). Returns nullopt and one line in `error` if
/// a file cannot be read or exceeds 1 MiB, or if options are given for a file that is not
/// fail2ban's.
std::optional<RegexFile> ReadRegexFile(const std::filesystem::path& file, std::string* error);

}  // namespace sluice::engine::logmon
