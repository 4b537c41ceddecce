// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/filter.h"

#include <utility>

#include "engine/logmon/filter/condition.h"
#include "engine/logmon/filter/field_reader.h"
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

RegexMemory& Scratch::regex() {
  if (regex_ == nullptr) regex_ = std::make_unique<RegexMemory>();
  return *regex_;
}

Fail2banMemory& Scratch::fail2ban(const Condition& filter, size_t max_lines) {
  for (const auto& [known, memory] : fail2ban_) {
    if (known == &filter) return *memory;
  }
  fail2ban_.emplace_back(&filter, std::make_unique<Fail2banMemory>(max_lines));
  return *fail2ban_.back().second;
}

uint64_t Scratch::given_up() const { return regex_ != nullptr ? regex_->pcre2.given_up() : 0; }

uint64_t Scratch::unread_json() const { return json_->unread(); }

Filter::Filter() = default;
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;

std::optional<Filter> Filter::CloudWatch(std::string_view pattern, std::string* error) {
  if (pattern.size() > kMaxPatternBytes) {
    *error = "a pattern may have at most 1024 bytes";
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

std::vector<std::pair<std::string, std::string_view>> Filter::FieldsOf(
    std::string_view line) const {
  std::vector<std::pair<std::string, std::string_view>> fields;
  const auto* pattern = std::get_if<FieldPattern>(&condition_->pattern);
  if (pattern == nullptr) return fields;
  FieldReader reader(line);
  while (const auto field = reader.Next()) fields.emplace_back("$", *field);
  for (size_t number = 0; number < fields.size(); ++number) {
    const std::string_view name = pattern->NameOf(number, fields.size());
    fields[number].first += name.empty() ? std::to_string(number + 1) : std::string(name);
  }
  return fields;
}

std::optional<Filter> Filter::Regex(std::string_view expression, std::string* error) {
  auto regex = HostRegex::Compile(expression, error);
  if (!regex) return std::nullopt;
  Filter filter;
  filter.needles_ = regex->GetNeedles();
  filter.condition_ = std::make_unique<const Condition>(*std::move(regex));
  return filter;
}

std::optional<Filter> Filter::Fail2ban(const std::filesystem::path& file,
                                       std::vector<std::string>* skipped_rules,
                                       std::string* error) {
  auto rules = Fail2banFilter::Read(file, skipped_rules, error);
  if (!rules) return std::nullopt;
  Filter filter;
  filter.needles_ = rules->GetNeedles();
  filter.condition_ = std::make_unique<const Condition>(*std::move(rules));
  return filter;
}

void Filter::Prepare(Scratch& scratch) const {
  if (std::holds_alternative<HostRegex>(condition_->pattern)) scratch.regex();
  if (const auto* rules = std::get_if<Fail2banFilter>(&condition_->pattern)) {
    scratch.regex();
    scratch.fail2ban(*condition_, rules->max_lines());
  }
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
  if (const auto* rules = std::get_if<Fail2banFilter>(&pattern)) {
    return rules->Matches(line, scratch.speaker, scratch.regex(),
                          scratch.fail2ban(*condition_, rules->max_lines()));
  }
  return std::get<HostRegex>(pattern).Matches(line, scratch.regex());
}

size_t Filter::rules() const {
  const auto* rules = std::get_if<Fail2banFilter>(&condition_->pattern);
  return rules != nullptr ? rules->rules() : 1;
}

bool Filter::wants_speaker() const {
  return std::holds_alternative<Fail2banFilter>(condition_->pattern);
}

bool Filter::names_host() const {
  const auto* regex = std::get_if<HostRegex>(&condition_->pattern);
  return wants_speaker() || (regex != nullptr && regex->names_host());
}

std::string_view Filter::HostOf(std::string_view line, Scratch& scratch) const {
  if (const auto* rules = std::get_if<Fail2banFilter>(&condition_->pattern)) {
    return scratch.fail2ban(*condition_, rules->max_lines()).host;
  }
  const auto* regex = std::get_if<HostRegex>(&condition_->pattern);
  return regex != nullptr ? regex->HostOf(line, scratch.regex()) : std::string_view();
}

}  // namespace sluice::engine::logmon
