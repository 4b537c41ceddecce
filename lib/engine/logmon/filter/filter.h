// SPDX-License-Identifier: BSD-3-Clause
//
// Filters for lines. A filter is a pattern in CloudWatch Logs syntax, a regular expression in
// fail2ban's form, or one of fail2ban's rule files. A filter is compiled once and then evaluated
// for lines.
//
// Most lines match no filter and are never evaluated: scan/rule_set.h searches all text for the
// needles of all filters at once, and evaluates a filter only for lines with its needles.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::engine::logmon {

class Condition;
class JsonLine;
struct Fail2banMemory;
struct RegexMemory;

/// An expression to search for, in the syntax that Hyperscan and PCRE share. Each match lies within
/// a line. It does not contain CR or LF, except that an anchored match may include the CR before or
/// after its line.
struct Needle {
  std::string expression;
};

/// Conditions that hold for every line that a filter matches: the line contains all of `all`, none
/// of `none`, and, unless `any` is empty, at least one of `any`.
struct Needles {
  std::vector<Needle> all, any, none;
  /// True: a line matches if and only if these conditions hold. False: the conditions are
  /// necessary, and a line that satisfies them must be evaluated.
  bool decide = false;
};

/// Writer and time of a line, for filters that combine lines or that search a line in the form in
/// which a syslog daemon writes it to a file.
struct Speaker {
  uint64_t id = 0;   ///< Lines with different ids are never combined.
  uint64_t now = 0;  ///< Time in any unit.
  /// Maximum time between combined lines, in the same unit; 0: unlimited.
  uint64_t max_silence = 0;
  /// Header that a syslog daemon writes to its file before the line (FileHeader). Empty if the line
  /// was not a syslog message.
  std::string_view header = {};
};

/// Memory for evaluations, and the state of filters that depend on earlier lines. There is one
/// object per thread for all filters.
class Scratch {
 public:
  Scratch();
  Scratch(Scratch&&) noexcept;
  ~Scratch();
  JsonLine& json() { return *json_; }
  /// Returns scratch memory for the fields of a line.
  std::vector<std::string_view>& fields() { return fields_; }
  /// Returns scratch memory for searches, which the first call allocates.
  RegexMemory& regex();
  /// Returns the state of `filter`, which combines up to `max_lines` lines. The first call for the
  /// filter allocates it.
  Fail2banMemory& fail2ban(const Condition& filter, size_t max_lines);
  /// Returns the number of aborted searches. The result of an aborted search is "no match".
  uint64_t given_up() const;
  /// See JsonLine::unread.
  uint64_t unread_json() const;

  /// Speaker of the lines that follow.
  Speaker speaker;

 private:
  std::unique_ptr<JsonLine> json_;
  std::vector<std::string_view> fields_;
  std::unique_ptr<RegexMemory> regex_;
  std::vector<std::pair<const Condition*, std::unique_ptr<Fail2banMemory>>> fail2ban_;
};

/// A compiled filter. Immutable; any number of threads may use it, each with a separate Scratch.
/// Evaluation time is bounded: expressions run in RE2, in time linear in the line's length, or in
/// PCRE2 within limits (Pcre2Regex).
class Filter {
 public:
  /// Compiles a pattern in CloudWatch Logs' metric filter syntax: terms and phrases, `?optional`,
  /// `-excluded`, `%regex%`, `{ $.json … }`, `[space, delimited, …]` (Amazon CloudWatch Logs user
  /// guide, "Filter pattern syntax"). It has at most kMaxPatternBytes. Returns nullopt and one line
  /// in `error` if it is invalid.
  static std::optional<Filter> CloudWatch(std::string_view pattern, std::string* error);
  /// Compiles a Python regular expression, for which lines are searched. `<HOST>` matches a host
  /// name or address, as in fail2ban. Returns nullopt and one line in `error` if the expression is
  /// invalid.
  static std::optional<Filter> Regex(std::string_view expression, std::string* error);
  /// Reads a file from fail2ban's filter.d, optionally with options as in
  /// `sshd.conf[mode=aggressive]`, and the files it includes. The filter matches lines that are
  /// failures. Rules that cannot be used are reported in `skipped_rules`, one line each, with the
  /// reason. Returns nullopt and one line in `error` if the file is invalid or has no usable rule.
  static std::optional<Filter> Fail2ban(const std::filesystem::path& file,
                                        std::vector<std::string>* skipped_rules,
                                        std::string* error);

  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  static constexpr size_t kMaxPatternBytes = 1024;

  /// Allocates the memory that Matches needs, except buffers that grow with the longest line.
  void Prepare(Scratch& scratch) const;
  /// Returns whether the filter matches `line`, which does not include its line end and may contain
  /// any bytes. A fail2ban filter must receive each line once and in order.
  bool Matches(std::string_view line, Scratch& scratch) const;
  /// Returns whether this is a fail2ban filter, which depends on Scratch::speaker.
  bool wants_speaker() const;
  /// Returns whether the filter names hosts. A fail2ban file does; a regular expression does if it
  /// has a tag for the host (<HOST>, <F-ID/>).
  bool names_host() const;
  /// Returns the host in `line`, which must be the last line that the filter matched with this
  /// scratch; empty if the line does not name a host.
  std::string_view HostOf(std::string_view line, Scratch& scratch) const;
  const Needles& needles() const { return needles_; }
  /// Returns the number of active rules of a fail2ban file; 1 for other filters.
  size_t rules() const;
  /// Returns the field names of a space-delimited pattern; empty for other patterns.
  const std::vector<std::string>& fields() const { return fields_; }
  /// Returns the fields of a line that a space-delimited pattern matches, in order. Each has a
  /// value and a name: "$" and the field's name, or "$" and its number in the line (from 1) if it
  /// has no name. The result is empty for other patterns.
  std::vector<std::pair<std::string, std::string_view>> FieldsOf(std::string_view line) const;

 private:
  friend class LineValue;
  Filter();
  std::shared_ptr<const Condition> condition_;
  Needles needles_;
  std::vector<std::string> fields_;
};

/// The number that a line contributes to a metric: a constant, `$.a.b` in a JSON line, or `$field`
/// in a space-delimited line.
class MetricValue {
 public:
  /// Compiles `value`, which must fit the pattern kind of `filter`. Returns nullopt and one line in
  /// `error` if it does not.
  static std::optional<MetricValue> Compile(std::string_view value, const Filter& filter,
                                            std::string* error);
  MetricValue(MetricValue&&) noexcept;
  MetricValue& operator=(MetricValue&&) noexcept;
  ~MetricValue();

  /// Returns the value of a line that `filter` matches; nullopt if the line does not contain a
  /// finite number at that position.
  std::optional<double> Of(std::string_view line, Scratch& scratch) const;

 private:
  struct Selector;
  explicit MetricValue(std::unique_ptr<const Selector> selector);
  std::unique_ptr<const Selector> selector_;
};

}  // namespace sluice::engine::logmon
