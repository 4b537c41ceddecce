// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/date_patterns.h"

#include <utility>

#include "engine/logmon/filter/date_templates.h"
#include "engine/logmon/filter/python_regex.h"

namespace sluice::engine::logmon {

std::optional<DatePatterns> DatePatterns::Compile(std::string_view option, std::string* error) {
  DatePatterns patterns;
  for (const DateTemplate& one : DateTemplatesOf(option)) {
    auto regex = Pcre2Regex::Compile(FromPython(one.regex), error);
    if (regex == nullptr) {
      *error = "datepattern: " + *error;
      return std::nullopt;
    }
    patterns.patterns_.push_back({std::move(regex), one.line_begin || one.line_end});
  }
  return patterns;
}

DatePatterns::Span DatePatterns::Find(std::string_view line, Pcre2Memory& memory,
                                      std::vector<std::string_view>* groups) const {
  Span span;
  size_t nearest = std::string_view::npos;
  for (const Pattern& pattern : patterns_) {
    if (!pattern.regex->Search(line, memory, groups)) continue;
    const auto at = static_cast<size_t>((*groups)[0].data() - line.data());
    if (at >= nearest && !pattern.at_edge) continue;
    const std::string_view stamp = (*groups)[1];
    const size_t begin = stamp.empty() ? 0 : static_cast<size_t>(stamp.data() - line.data());
    nearest = at;
    span = {begin, begin + stamp.size()};
    if (pattern.at_edge) break;
  }
  return span;
}

}  // namespace sluice::engine::logmon
