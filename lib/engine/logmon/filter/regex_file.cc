// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/regex_file.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>

#include "engine/logmon/filter/fail2ban_config.h"

namespace sluice::engine::logmon {

std::optional<RegexFile> ReadRegexFile(const std::filesystem::path& file, std::string* error) {
  const auto split = SplitOptions(file, error);
  const auto text = split ? ReadTextFile(split->file, error) : std::nullopt;
  if (!text) return std::nullopt;
  RegexFile read;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    read.is_fail2ban |= line == "[Definition]";
    if (!line.empty() && line[0] != '#') read.expressions.emplace_back(line);
  }
  if (read.is_fail2ban) read.expressions.clear();
  if (!read.is_fail2ban && !split->options.empty()) {
    *error = file.string() + ": only a fail2ban filter has options: omit the brackets";
    return std::nullopt;
  }
  return read;
}

}  // namespace sluice::engine::logmon
