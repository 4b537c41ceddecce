// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/filter.h"

#include "engine/logmon/filter/condition.h"
#include "engine/logmon/filter/json_line.h"

namespace sluice::engine::logmon {

Scratch::Scratch() : json_(std::make_unique<JsonLine>()) {}
Scratch::~Scratch() = default;

Filter::Filter() = default;
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;

std::optional<Filter> Filter::CloudWatch(std::string_view pattern, std::string* error) {
  if (pattern.size() > kMaxPatternBytes) {
    *error = "a pattern has at most 1024 bytes";
    return std::nullopt;
  }
  Cursor cursor(pattern);
  cursor.SkipSpace();
  Filter filter;
  auto terms = TermPattern::Parse(cursor);
  if (!terms) {
    *error = cursor.error();
    return std::nullopt;
  }
  filter.needles_ = terms->GetNeedles();
  filter.condition_ = std::make_unique<const Condition>(*std::move(terms));
  return filter;
}

std::optional<Filter> Filter::Regex(std::string_view expression, std::string* error) {
  auto regex = HostRegex::Compile(expression, error);
  if (!regex) return std::nullopt;
  Filter filter;
  filter.needles_ = regex->GetNeedles();
  filter.condition_ = std::make_unique<const Condition>(*std::move(regex));
  return filter;
}

bool Filter::Matches(std::string_view line, Scratch&) const {
  return std::visit([line](const auto& pattern) { return pattern.Matches(line); },
                    condition_->pattern);
}

}  // namespace sluice::engine::logmon
