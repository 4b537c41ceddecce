// SPDX-License-Identifier: BSD-3-Clause
//
// Regular expressions as fail2ban's filters have them (fail2ban, jail.conf(5), "FILTER FILES").
#pragma once

#include <re2/re2.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/logmon/filter/filter.h"
#include "engine/logmon/filter/regex_needle.h"

namespace sluice::engine::logmon {

/// `expression` with fail2ban's tags replaced: <HOST>, <ADDR>, <IP4>, <IP6>, <DNS>, <CIDR>,
/// <SUBNET>, <F-ID/> and <F-PORT/> by what they match, <F-…> and </F-…> by a group. Python's \Z
/// is RE2's \z. Nothing, and one line in `error`, for <SKIPLINES> (it means several lines) and tags
/// that do not close.
std::optional<std::string> ReplaceTags(std::string_view expression, std::string* error);

/// Searched in a line, as bytes. Immutable.
class HostRegex {
 public:
  static std::optional<HostRegex> Compile(std::string_view expression, std::string* error);
  bool Matches(std::string_view line) const;
  Needles GetNeedles() const;

 private:
  HostRegex() = default;
  std::unique_ptr<const RE2> regex_;
  std::optional<RegexNeedle> needle_;
};

}  // namespace sluice::engine::logmon
