// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/filter.h"

#include <utility>

#include "engine/logmon/filter/condition.h"
#include "engine/logmon/filter/json_line.h"

namespace sluice::engine::logmon {
namespace {

template <typename Pattern>
std::unique_ptr<const Condition> Parse(Cursor& cursor, Needles* needles) {
  auto pattern = Pattern::Parse(cursor);
  if (!pattern) return nullptr;
  *needles = pattern->GetNeedles();
  return std::make_unique<const Condition>(*std::move(pattern));
}

}  // namespace

Scratch::Scratch() : json_(std::make_unique<JsonLine>()) {}
Scratch::Scratch(Scratch&&) noexcept = default;
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
  if (cursor.Peek() == '{') {
    filter.condition_ = Parse<JsonPattern>(cursor, &filter.needles_);
  } else if (cursor.Peek() == '[') {
    filter.condition_ = Parse<FieldPattern>(cursor, &filter.needles_);
    if (filter.condition_ != nullptr) {
      filter.fields_ = std::get<FieldPattern>(filter.condition_->pattern).names();
    }
  } else {
    filter.condition_ = Parse<TermPattern>(cursor, &filter.needles_);
  }
  if (filter.condition_ == nullptr) {
    *error = cursor.error();
    return std::nullopt;
  }
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

bool Filter::Matches(std::string_view line, Scratch& scratch) const {
  const auto& pattern = condition_->pattern;
  if (const auto* json = std::get_if<JsonPattern>(&pattern)) {
    return json->Matches(line, scratch.json());
  }
  if (const auto* fields = std::get_if<FieldPattern>(&pattern)) {
    return fields->Matches(line, scratch.fields());
  }
  if (const auto* terms = std::get_if<TermPattern>(&pattern)) return terms->Matches(line);
  return std::get<HostRegex>(pattern).Matches(line);
}

}  // namespace sluice::engine::logmon
