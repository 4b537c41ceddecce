// SPDX-License-Identifier: BSD-3-Clause
//
// A fail2ban filter (filter.d/*.conf) with the semantics of fail2ban's server. It finds the lines
// that report failures, and the host of each failure (fail2ban, jail.conf(5), "FILTER FILES"; its
// server/filter.py, findFailure).
//
// A syslog message is converted to the line that a daemon writes to its file. The time stamp is
// removed. `prefregex` selects a part of the line, in which the rules of `failregex` are searched.
// The first rule that matches decides, unless a rule of `ignoreregex` matches. Some rules match
// lines that are not failures by themselves, that do not name a host, or that end a session. Such
// lines are combined with other lines of the session (fail2ban_sessions.h).
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

/// A filter's state for the lines that one thread processes. Allocates memory when a line is longer
/// than all earlier ones.
struct Fail2banMemory {
  explicit Fail2banMemory(size_t max_lines) : lines(max_lines) {}

  Fail2banSessions sessions;
  LineBuffers lines;
  std::string line, text, content;  ///< Buffers for the current line.
  std::string host;                 ///< Host of the last failure.
};

/// A compiled filter; immutable.
class Fail2banFilter {
 public:
  /// Reads a filter. Rules that cannot be used are reported in `skipped_rules`, one line each, with
  /// the reason. Returns nullopt and one line in `error` if the file cannot be read, has an invalid
  /// option, or has no usable rule.
  static std::optional<Fail2banFilter> Read(const std::filesystem::path& file,
                                            std::vector<std::string>* skipped_rules,
                                            std::string* error);

  /// Returns whether a line from `speaker` is a failure. If it is, sets memory.host.
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
  bool AddRules(const std::string& texts, std::vector<std::string>* skipped_rules,
                std::string* error);
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
