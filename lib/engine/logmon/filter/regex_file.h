// SPDX-License-Identifier: BSD-3-Clause
//
// Files of regular expressions: fail2ban's filter.d/*.conf, or one expression a line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::engine::logmon {

/// A file with a line `[Definition]` is one of fail2ban's: the expressions are the lines of its
/// `failregex`, each within `prefregex` where there is one. fail2ban searches lines without their
/// time stamps: here, one may stand where the expression says that the line begins, and between
/// brackets that the expression has empty.
/// Any other file has one expression a line; empty lines and those that begin with # say nothing.
/// Tags such as <HOST> are left to Filter::Regex. Nothing, and one line in `error`, if a file
/// cannot be read or has more than a MiB, or refers to what is not there or to itself.
std::optional<std::vector<std::string>> ReadRegexFile(const std::filesystem::path& file,
                                                      std::string* error);

}  // namespace sluice::engine::logmon
