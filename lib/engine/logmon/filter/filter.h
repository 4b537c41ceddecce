// SPDX-License-Identifier: BSD-3-Clause
//
// What a filter says of a line. A filter is a pattern in the syntax of CloudWatch Logs, or a
// regular expression as fail2ban writes them; both are compiled once, and then asked per line.
//
// Most lines match nothing, and are never asked: scan/rule_set.h looks for a filter's needles in
// all text at once, and asks only where they are found.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

class JsonLine;
class Condition;

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

/// Memory that answering takes; one for each thread, for all filters. See json_line.h.
class Scratch {
 public:
  Scratch();
  Scratch(Scratch&&) noexcept;
  ~Scratch();
  JsonLine& json() { return *json_; }
  /// Room for the fields of a line.
  std::vector<std::string_view>& fields() { return fields_; }

 private:
  std::unique_ptr<JsonLine> json_;
  std::vector<std::string_view> fields_;
};

/// A compiled filter. Immutable; any number of threads may ask it, each with its own Scratch.
/// Bounded: expressions run in RE2, in time linear in the line's length.
class Filter {
 public:
  /// A pattern in the metric-filter syntax of CloudWatch Logs: terms and phrases, `?optional`,
  /// `-excluded`, `%regex%`, `{ $.json … }`, `[space, delimited, …]` (Amazon CloudWatch Logs
  /// user guide, "Filter pattern syntax"). At most kMaxPatternBytes. Nothing, and one line in
  /// `error`, if it is wrong.
  static std::optional<Filter> CloudWatch(std::string_view pattern, std::string* error);
  /// A regular expression, searched in the line; `<HOST>` stands for a host name or address, as
  /// in fail2ban. What RE2 cannot say (look-around, conditionals, back references) is an error.
  static std::optional<Filter> Regex(std::string_view expression, std::string* error);

  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  static constexpr size_t kMaxPatternBytes = 1024;

  /// Whether the filter matches `line`, which has no line end. Any bytes.
  bool Matches(std::string_view line, Scratch& scratch) const;
  const Needles& needles() const { return needles_; }
  /// The names of the fields of a space-delimited pattern; empty for other patterns.
  const std::vector<std::string>& fields() const { return fields_; }

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
