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

std::optional<JsonSelector> JsonSelector::Take(Cursor& cursor) {
  if (!cursor.rest().starts_with("$.")) {
    cursor.Fail("a selector is missing: it begins with $.");
    return std::nullopt;
  }
  cursor.Advance(1);
  JsonSelector selector;
  for (;;) {
    const std::string_view rest = cursor.rest();
    Step step;
    if (cursor.Take(".")) {
      step.name.assign(rest.begin() + 1, std::find_if_not(rest.begin() + 1, rest.end(), IsInName));
      if (step.name.empty()) {
        cursor.Fail("a name is missing: letters, digits, _ and -");
        return std::nullopt;
      }
      cursor.Advance(step.name.size());
    } else if (cursor.Take("[")) {
      uint32_t index = 0;
      const auto [end, code] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), index);
      if (code == std::errc()) cursor.Advance(static_cast<size_t>(end - rest.data()) - 1);
      if (code != std::errc() || !cursor.Take("]")) {
        cursor.Fail("an index is missing: a number in brackets");
        return std::nullopt;
      }
      step.index = index;
    } else {
      return selector;
    }
    selector.steps_.push_back(std::move(step));
  }
}

std::optional<simdjson::dom::element> JsonSelector::In(const simdjson::dom::object& object) const {
  simdjson::dom::element at;
  if (object.at_key(steps_[0].name).get(at) != simdjson::SUCCESS) return std::nullopt;
  for (size_t i = 1; i < steps_.size(); ++i) {
    simdjson::dom::array array;
    simdjson::dom::object inner;
    simdjson::error_code code;
    if (steps_[i].index) {
      code = at.get_array().get(array);
      if (code == simdjson::SUCCESS) code = array.at(*steps_[i].index).get(at);
    } else {
      code = at.get_object().get(inner);
      if (code == simdjson::SUCCESS) code = inner.at_key(steps_[i].name).get(at);
    }
    if (code != simdjson::SUCCESS) return std::nullopt;
  }
  return at;
}

Clauses JsonSelector::GetClauses() const {
  Clauses clauses;
  for (const Step& step : steps_) {
    if (!step.index) clauses.push_back(JsonTextClause(absl::StrCat("\"", step.name, "\"")));
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
