// SPDX-License-Identifier: BSD-3-Clause
#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "check.h"
#include "engine/logmon/filter/filter.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

using engine::logmon::Filter;
using engine::logmon::MetricValue;
using engine::logmon::Needle;
using engine::logmon::Scratch;

/// Returns whether RE2 finds the needle in the line. RE2 rejects some repetition counts that
/// Hyperscan accepts, and misses some alternatives of non-ASCII bytes, such as \x8d in "\x8d|\x8d".
/// Returns `unknown` for needles of these forms.
bool IsIn(const Needle& needle, std::string_view line, bool unknown) {
  static const RE2 beyond_ascii(R"(\\x[89a-f])");
  if (needle.expression.find('|') != std::string::npos &&
      RE2::PartialMatch(needle.expression, beyond_ascii)) {
    return unknown;
  }
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  const RE2 regex("(?m)" + needle.expression, options);
  FUZZ_CHECK(regex.ok() || regex.error_code() == RE2::ErrorPatternTooLarge ||
             regex.error_code() == RE2::ErrorRepeatSize);
  return regex.ok() ? RE2::PartialMatch({line.data(), line.size()}, regex) : unknown;
}

void Ask(const Filter& filter, std::string_view line) {
  static Scratch scratch;
  const bool matches = filter.Matches(line, scratch);
  FUZZ_CHECK(filter.Matches(line, scratch) == matches);
  if (!matches) return;
  const auto& needles = filter.needles();
  for (const Needle& needle : needles.all) FUZZ_CHECK(IsIn(needle, line, true));
  for (const Needle& needle : needles.none) FUZZ_CHECK(!IsIn(needle, line, false));
  FUZZ_CHECK(needles.any.empty() ||
             std::any_of(needles.any.begin(), needles.any.end(),
                         [line](const Needle& needle) { return IsIn(needle, line, true); }));
  std::string error;
  if (const auto value = MetricValue::Compile("$.a", filter, &error)) value->Of(line, scratch);
}

}  // namespace

void LogmonFilter(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view pattern = text.substr(0, std::min(text.find('\n'), size));
  std::string_view lines = text.substr(std::min(pattern.size() + 1, size));
  std::string error, regex_error;
  const auto filter = Filter::CloudWatch(pattern, &error);
  const auto regex = Filter::Regex(pattern, &regex_error);
  FUZZ_CHECK(filter.has_value() == error.empty() && regex.has_value() == regex_error.empty());
  while (!lines.empty()) {
    const size_t end = std::min(lines.find_first_of("\r\n"), lines.size());
    const std::string line(lines.substr(0, end));  // Copy the line into memory of its exact size.
    if (filter) Ask(*filter, line);
    if (regex) Ask(*regex, line);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

}  // namespace sluice::fuzz
