// SPDX-License-Identifier: BSD-3-Clause
//
// A regular expression in fail2ban's form, evaluated for whole lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/logmon/filter/fail2ban_tags.h"
#include "engine/logmon/filter/filter.h"
#include "engine/logmon/filter/line_regex.h"
#include "engine/logmon/filter/regex_needle.h"

namespace sluice::engine::logmon {

/// A compiled expression. Searches a line as bytes. Immutable.
class HostRegex {
 public:
  static std::optional<HostRegex> Compile(std::string_view expression, std::string* error);

  bool Matches(std::string_view line, RegexMemory& memory) const;
  /// Returns whether the expression has a tag that names the host.
  bool names_host() const { return tags_.names_host(); }
  /// Returns the host in a line that matches, valid while the line exists; a view without data if
  /// the line does not name a host.
  std::string_view HostOf(std::string_view line, RegexMemory& memory) const;
  Needles GetNeedles() const;

 private:
  explicit HostRegex(LineRegex regex);

  LineRegex regex_;
  TagGroups tags_;
  std::optional<RegexNeedle> needle_;
};

}  // namespace sluice::engine::logmon
