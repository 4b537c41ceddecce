// SPDX-License-Identifier: BSD-3-Clause
//
// A filter of fail2ban's (filter.d/*.conf) as fail2ban's server runs it: which lines are failures,
// and whose (fail2ban, jail.conf(5), "FILTER FILES"; its server/filter.py, findFailure).
//
// A message of syslog is read as the line that a daemon writes into its file. A line loses its time
// stamp; what `prefregex` leaves of it is searched for the rules of
// `failregex`, of which the first that matches decides; one of `ignoreregex` takes that back.
// Rules that say that a line is no failure by itself, that name no host, or that end a session
// count together with other lines of the session (fail2ban_sessions.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/date_patterns.h"
#include "engine/logmon/filter/fail2ban_sessions.h"
#include "engine/logmon/filter/fail2ban_tags.h"
#include "engine/logmon/filter/filter.h"
#include "engine/logmon/filter/line_buffer.h"
#include "engine/logmon/filter/line_regex.h"

namespace sluice::engine::logmon {

/// What a filter remembers of the lines of one thread. Allocates when a line is longer than all
/// before.
struct Fail2banMemory {
  explicit Fail2banMemory(size_t max_lines) : lines(max_lines) {}

  Fail2banSessions sessions;
  LineBuffers lines;
  std::string line, text, content;  ///< Of the line at hand.
  std::string host;                 ///< Who failed in the last line that was a failure.
};

/// Immutable.
class Fail2banFilter {
 public:
  /// Rules that do not run are named in `left_out`, a line each, with the reason. Nothing, and one
  /// line in `error`, if the file cannot be read, or no rule runs.
  static std::optional<Fail2banFilter> Read(const std::filesystem::path& file,
                                            std::vector<std::string>* left_out, std::string* error);

  /// Whether a line of `speaker` is a failure; then memory.host has failed.
  bool Matches(std::string_view line, const Speaker& speaker, RegexMemory& regex,
               Fail2banMemory& memory) const;
  Needles GetNeedles() const;

  size_t rules() const { return rules_.size(); }
  size_t max_lines() const { return max_lines_; }

 private:
  struct Rule {
    LineRegex regex;
    TagGroups tags;
  };
  Fail2banFilter() = default;
  static std::optional<Rule> CompileRule(const std::string& text, bool multi_line,
                                         std::string* error);
  bool AddRules(const std::string& texts, std::vector<std::string>* left_out, std::string* error);
  std::string WhyNot(const Rule& rule) const;
  bool IsIgnored(std::string_view text, RegexMemory& regex) const;
  const Rule* FindRule(std::string_view text, RegexMemory& regex) const;
  static void ForgetLines(std::string_view text, const Rule& rule, const RegexMemory& regex,
                          Fail2banMemory& memory);

  std::optional<DatePatterns> dates_;
  std::optional<Rule> prefix_;
  std::vector<Rule> rules_;
  std::vector<LineRegex> ignored_;
  size_t max_lines_ = 1;
};

}  // namespace sluice::engine::logmon
