// SPDX-License-Identifier: BSD-3-Clause
//
// What a filter says of a line. A filter is a pattern in the syntax of CloudWatch Logs, a regular
// expression as fail2ban writes them, or one of fail2ban's files of rules; all are compiled once,
// and then asked per line.
//
// Most lines match nothing, and are never asked: scan/rule_set.h looks for a filter's needles in
// all text at once, and asks only where they are found.
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

/// Something to look for in text, in the syntax that Hyperscan and PCRE share. Its matches lie
/// within one line: it never matches CR or LF, but for one that ends its line where the pattern
/// says "end of line".
struct Needle {
  std::string expression;
};

/// Which needles a line has if a filter matches it: all of `all`, none of `none`, and one of
/// `any` unless that is empty.
struct Needles {
  std::vector<Needle> all, any, none;
  /// True: a line matches if and only if it has them. False: a line that has not does not match;
  /// one that has must be asked.
  bool decide = false;
};

/// Who writes a line, and when: for filters that put lines together, or read a daemon's file.
struct Speaker {
  uint64_t id = 0;           ///< Lines with different ids never belong together.
  uint64_t now = 0;          ///< In any unit.
  uint64_t max_silence = 0;  ///< In that unit: lines further apart do not either; 0: they do.
  /// What a syslog daemon writes before the line in its file (FileHeader). Empty: the line did not
  /// come as a message of syslog.
  std::string_view header = {};
};

/// Memory that answering takes, and what filters remember of earlier lines; one for each thread,
/// for all filters.
class Scratch {
 public:
  Scratch();
  Scratch(Scratch&&) noexcept;
  ~Scratch();
  JsonLine& json() { return *json_; }
  /// Room for the fields of a line.
  std::vector<std::string_view>& fields() { return fields_; }
  /// Room for searches. Allocates when it is asked for first.
  RegexMemory& regex();
  /// What a filter that spans `max_lines` remembers. The same, by filter.
  Fail2banMemory& fail2ban(const Condition& filter, size_t max_lines);
  /// Searches that were given up; a line is then taken for one that does not match.
  uint64_t given_up() const;
  /// JsonLine::unread.
  uint64_t unread_json() const;

  /// Of the lines that come next.
  Speaker speaker;

 private:
  std::unique_ptr<JsonLine> json_;
  std::vector<std::string_view> fields_;
  std::unique_ptr<RegexMemory> regex_;
  std::vector<std::pair<const Condition*, std::unique_ptr<Fail2banMemory>>> fail2ban_;
};

/// A compiled filter. Immutable; any number of threads may ask it, each with its own Scratch.
/// Bounded: expressions run in RE2, in time linear in the line's length, or in PCRE2, within limits
/// (Pcre2Regex).
class Filter {
 public:
  /// A pattern in the metric-filter syntax of CloudWatch Logs: terms and phrases, `?optional`,
  /// `-excluded`, `%regex%`, `{ $.json … }`, `[space, delimited, …]` (Amazon CloudWatch Logs
  /// user guide, "Filter pattern syntax"). At most kMaxPatternBytes. Nothing, and one line in
  /// `error`, if it is wrong.
  static std::optional<Filter> CloudWatch(std::string_view pattern, std::string* error);
  /// A regular expression of Python's, searched in the line; `<HOST>` stands for a host name or
  /// address, as in fail2ban.
  static std::optional<Filter> Regex(std::string_view expression, std::string* error);
  /// A file of fail2ban's filter.d, maybe with options as in `sshd.conf[mode=aggressive]`, and
  /// those it includes: matches lines that are failures. Rules that do not run are named in
  /// `left_out`, a line each, with the reason. Nothing, and one line in `error`, if the file is
  /// wrong or none of its rules runs.
  static std::optional<Filter> Fail2ban(const std::filesystem::path& file,
                                        std::vector<std::string>* left_out, std::string* error);

  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  static constexpr size_t kMaxPatternBytes = 1024;

  /// Allocates what asking takes, so that asking need not.
  void Prepare(Scratch& scratch) const;
  /// Whether the filter matches `line`, which has no line end. Any bytes. One of fail2ban's is
  /// asked about each line once, in their order.
  bool Matches(std::string_view line, Scratch& scratch) const;
  /// It is one of fail2ban's: Scratch::speaker counts.
  bool wants_speaker() const;
  /// Its expressions say who: <HOST>, <F-ID/>.
  bool names_host() const;
  /// Who that is in the last line that it matched, with the same scratch; empty if it names nobody.
  std::string_view HostOf(std::string_view line, Scratch& scratch) const;
  const Needles& needles() const { return needles_; }
  /// Of a file: how many run.
  size_t rules() const;
  /// The names of the fields of a space-delimited pattern; empty for other patterns.
  const std::vector<std::string>& fields() const { return fields_; }
  /// Fields of a line that a space-delimited pattern matches, in their order: "$" with the field's
  /// name or, if it has none, its number in the line, from 1; and the field. Empty for other
  /// patterns.
  std::vector<std::pair<std::string, std::string_view>> FieldsOf(std::string_view line) const;

 private:
  friend class LineValue;
  Filter();
  std::shared_ptr<const Condition> condition_;
  Needles needles_;
  std::vector<std::string> fields_;
};

/// The number that a line contributes to a metric: a constant, `$.a.b` of a JSON line, or `$field`
/// of a space-delimited one.
class MetricValue {
 public:
  /// `value` must fit `filter`'s kind of pattern. Nothing, and one line in `error`, if not.
  static std::optional<MetricValue> Compile(std::string_view value, const Filter& filter,
                                            std::string* error);
  MetricValue(MetricValue&&) noexcept;
  MetricValue& operator=(MetricValue&&) noexcept;
  ~MetricValue();

  /// Of a line that `filter` matches. Nothing if it has no such field, or no finite number in it.
  std::optional<double> Of(std::string_view line, Scratch& scratch) const;

 private:
  struct Selector;
  explicit MetricValue(std::unique_ptr<const Selector> selector);
  std::unique_ptr<const Selector> selector_;
};

}  // namespace sluice::engine::logmon
