// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/json_selector.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <charconv>

namespace sluice::engine::logmon {
namespace {

bool IsInName(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
}

}  // namespace

std::optional<JsonSelector> JsonSelector::Parse(Cursor& cursor) {
  if (!cursor.rest().starts_with("$.")) {
    cursor.Fail("a selector is missing; it must begin with $.");
    return std::nullopt;
  }
  cursor.Advance(1);
  JsonSelector selector;
  for (;;) {
    const std::string_view rest = cursor.rest();
    Step step;
    if (cursor.Consume(".")) {
      step.name.assign(rest.begin() + 1, std::find_if_not(rest.begin() + 1, rest.end(), IsInName));
      if (step.name.empty()) {
        cursor.Fail("a name is missing: use letters, digits, _ and -");
        return std::nullopt;
      }
      cursor.Advance(step.name.size());
    } else if (cursor.Consume("[")) {
      uint32_t index = 0;
      const auto [end, code] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), index);
      if (code == std::errc()) {
        cursor.Advance(static_cast<size_t>(end - rest.data()) - 1);
        step.index = index;
      }
      if ((!step.index && !cursor.Consume("*")) || !cursor.Consume("]")) {
        cursor.Fail("an index is missing: give a number or * in brackets");
        return std::nullopt;
      }
    } else {
      return selector;
    }
    selector.steps_.push_back(std::move(step));
  }
}

bool JsonSelector::has_wildcard() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.IsEach(); });
}

bool JsonSelector::AnyIn(const simdjson::dom::object& object, Holds holds) const {
  simdjson::dom::element first;
  return object.at_key(steps_[0].name).get(first) == simdjson::SUCCESS && AnyBelow(first, 1, holds);
}

bool JsonSelector::AnyBelow(simdjson::dom::element at, size_t step, Holds holds) const {
  for (; step < steps_.size(); ++step) {
    simdjson::dom::object object;
    simdjson::dom::array array;
    simdjson::error_code code;
    if (!steps_[step].name.empty()) {
      code = at.get_object().get(object);
      if (code == simdjson::SUCCESS) code = object.at_key(steps_[step].name).get(at);
    } else {
      code = at.get_array().get(array);
      if (code == simdjson::SUCCESS && steps_[step].IsEach()) {
        return std::any_of(array.begin(), array.end(), [&](const simdjson::dom::element& element) {
          return AnyBelow(element, step + 1, holds);
        });
      }
      if (code == simdjson::SUCCESS) code = array.at(*steps_[step].index).get(at);
    }
    if (code != simdjson::SUCCESS) return false;
  }
  return holds(at);
}

std::optional<simdjson::dom::element> JsonSelector::In(const simdjson::dom::object& object) const {
  std::optional<simdjson::dom::element> place;
  AnyIn(object, [&place](const simdjson::dom::element& found) {
    place = found;
    return true;
  });
  return place;
}

Clauses JsonSelector::GetClauses() const {
  Clauses clauses;
  for (const Step& step : steps_) {
    if (!step.name.empty()) clauses.push_back(JsonTextClause(absl::StrCat("\"", step.name, "\"")));
  }
  return clauses;
}

Clause JsonTextClause(std::string_view text) {
  const size_t open = text.starts_with('"') ? 1 : 0;
  const size_t close = text.size() > open && text.ends_with('"') ? 1 : 0;
  const std::string_view inner = text.substr(open, text.size() - open - close);
  const bool is_escaped = std::any_of(inner.begin(), inner.end(), [](char c) {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
  });
  Clause clause = LiteralClause("\\");
  if (!is_escaped) {
    clause.any.insert(clause.any.begin(), LiteralClause(text).any[0]);
    clause.strength = text.size();
  }
  return clause;
}

}  // namespace sluice::engine::logmon
