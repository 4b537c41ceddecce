// SPDX-License-Identifier: BSD-3-Clause
//
// A regular expression as fail2ban's filters have them, asked about whole lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/logmon/filter/fail2ban_tags.h"
#include "engine/logmon/filter/filter.h"
#include "engine/logmon/filter/line_regex.h"
#include "engine/logmon/filter/regex_needle.h"

namespace sluice::engine::logmon {

/// Searched in a line, as bytes. Immutable.
class HostRegex {
 public:
  static std::optional<HostRegex> Compile(std::string_view expression, std::string* error);

  bool Matches(std::string_view line, RegexMemory& memory) const;
  /// It has a tag that says who.
  bool names_host() const { return tags_.names_host(); }
  /// Of a line that it matches; without data if it names none. Valid as long as the line.
  std::string_view HostOf(std::string_view line, RegexMemory& memory) const;
  Needles GetNeedles() const;

 private:
  explicit HostRegex(LineRegex regex);

  LineRegex regex_;
  TagGroups tags_;
  std::optional<RegexNeedle> needle_;
};

}  // namespace sluice::engine::logmon
