// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/line_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "engine/logmon/filter/comparison.h"
#include "engine/logmon/filter/condition.h"
#include "engine/logmon/filter/field_reader.h"
#include "engine/logmon/filter/json_repair.h"

namespace sluice::engine::logmon {
namespace {

/// Returns the number as a double; nullopt if it is missing or beyond the range of a double.
std::optional<double> Finite(std::optional<long double> number) {
  if (!number || std::abs(*number) >= kBeyondDouble) return std::nullopt;
  return static_cast<double>(*number);
}

}  // namespace

std::optional<LineValue> LineValue::Compile(std::string_view selector, const Filter& filter,
                                            std::string* error) {
  LineValue value;
  const auto& pattern = filter.condition_->pattern;
  if (std::holds_alternative<JsonPattern>(pattern)) {
    Cursor cursor(selector);
    value.selector_ = JsonSelector::Parse(cursor);
    if (value.selector_ && !cursor.AtEnd()) cursor.Fail("unexpected text after the selector");
    if (value.selector_ && value.selector_->has_wildcard()) {
      cursor.FailAt(0, "a value must select one element: use an index instead of *");
    }
    if (cursor.failed()) {
      *error = cursor.error();
      return std::nullopt;
    }
    return value;
  }
  const auto* fields = std::get_if<FieldPattern>(&pattern);
  if (fields == nullptr) {
    *error = "only JSON and space-delimited patterns support values";
    return std::nullopt;
  }
  const std::string_view name = selector.substr(selector.starts_with('$') ? 1 : 0);
  const auto found = std::find(filter.fields_.begin(), filter.fields_.end(), name);
  value.condition_ = filter.condition_;
  value.field_ = static_cast<size_t>(found - filter.fields_.begin());
  if (!name.empty() && name != selector && found != filter.fields_.end()) return value;
  value.by_number_ = true;
  const auto [stop, code] = std::from_chars(name.data(), name.data() + name.size(), value.field_);
  if (name == selector || code != std::errc() || stop != name.data() + name.size() ||
      value.field_-- == 0 || !fields->MayHave(value.field_ + 1)) {
    *error =
        "a value of a space-delimited pattern must be $ followed by the name or number of one of "
        "its fields";
    return std::nullopt;
  }
  return value;
}

std::optional<std::string_view> LineValue::FieldOf(std::string_view line, Scratch& scratch) const {
  const auto& pattern = std::get<FieldPattern>(condition_->pattern);
  if (!pattern.Split(line, scratch.fields())) return std::nullopt;
  if (!by_number_) return scratch.fields()[field_];
  FieldReader reader(line);
  auto field = reader.Next();
  for (size_t number = 0; field && number < field_; ++number) field = reader.Next();
  return field;
}

std::optional<double> LineValue::NumberOf(std::string_view line, Scratch& scratch) const {
  ScalarRoom room;
  if (selector_) {
    const simdjson::dom::object* object = scratch.json().Parse(line);
    const auto value = object != nullptr ? selector_->In(*object) : std::nullopt;
    if (!value) return std::nullopt;
    if (const auto number = ScalarNumber(*value)) return Finite(*number);
    const auto text = ScalarText(*value, room);
    return text ? Finite(NumberIn(*text)) : std::nullopt;
  }
  const auto text = FieldOf(line, scratch);
  return text ? Finite(NumberIn(*text)) : std::nullopt;
}

std::optional<std::string_view> LineValue::TextOf(std::string_view line, Scratch& scratch,
                                                  ScalarRoom& room) const {
  if (!selector_) return FieldOf(line, scratch);
  const simdjson::dom::object* object = scratch.json().Parse(line);
  const auto value = object != nullptr ? selector_->In(*object) : std::nullopt;
  return value ? ScalarText(*value, room) : std::nullopt;
}

}  // namespace sluice::engine::logmon
