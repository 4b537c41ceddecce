// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/json_pattern.h"

#include <string>
#include <utility>
#include <vector>

#include "engine/logmon/filter/json_scalar.h"

namespace sluice::engine::logmon {
namespace {

bool HoldsForValue(const Comparison& comparison, const simdjson::dom::element& value) {
  if (value.is_array() || value.is_object()) return false;
  if (const auto number = ScalarNumber(value)) {
    if (comparison.is_number()) return comparison.HoldsForNumber(*number);
  }
  ScalarRoom room;
  const auto text = ScalarText(value, room);
  if (!text || (comparison.is_quoted() && !value.is_string())) return comparison.is_negated();
  return comparison.HoldsForText(*text);
}

/// Returns whether `piece` may be part of a number. In a line, the same number may have another
/// notation.
bool MayBeInNumber(std::string_view piece) {
  return piece.find_first_not_of("0123456789+-.eE") == piece.npos;
}

}  // namespace

std::optional<JsonPattern::Leaf> JsonPattern::ParseLeaf(Cursor& cursor, int* regexes) {
  auto selector = JsonSelector::Parse(cursor);
  if (!selector) return std::nullopt;
  Leaf leaf{.selector = *std::move(selector), .test = Test::kComparison, .comparison = {}};
  cursor.SkipSpace();
  if (cursor.ConsumeWord("IS")) {
    cursor.SkipSpace();
    if (cursor.ConsumeWord("NULL")) {
      leaf.test = Test::kIsNull;
    } else if (cursor.ConsumeWord("TRUE")) {
      leaf.test = Test::kIsTrue;
    } else if (cursor.ConsumeWord("FALSE")) {
      leaf.test = Test::kIsFalse;
    } else {
      cursor.Fail("NULL, TRUE or FALSE expected after IS");
      return std::nullopt;
    }
  } else if (cursor.ConsumeWord("NOT")) {
    cursor.SkipSpace();
    if (!cursor.ConsumeWord("EXISTS")) {
      cursor.Fail("EXISTS expected after NOT");
      return std::nullopt;
    }
    leaf.test = Test::kNotExists;
  } else {
    leaf.comparison = Comparison::Parse(cursor, regexes);
    if (!leaf.comparison) return std::nullopt;
  }
  return leaf;
}

std::optional<JsonPattern> JsonPattern::Parse(Cursor& cursor) {
  const size_t begin = cursor.position();
  cursor.Consume("{");
  int regexes = 0;
  auto expression =
      Expression<Leaf>::Parse(cursor, [&regexes](Cursor& at) { return ParseLeaf(at, &regexes); });
  if (!expression) return std::nullopt;
  if (!cursor.ParseClosing("}", begin, "brace", "&&, ||")) return std::nullopt;
  return JsonPattern(*std::move(expression));
}

bool JsonPattern::Leaf::HoldsIn(const simdjson::dom::object& object) const {
  if (test == Test::kNotExists) {
    return !selector.AnyIn(object, [](const simdjson::dom::element&) { return true; });
  }
  return selector.AnyIn(object, [this](const simdjson::dom::element& value) {
    switch (test) {
      case Test::kComparison:
        return HoldsForValue(*comparison, value);
      case Test::kIsNull:
        return value.is_null();
      case Test::kIsTrue:
        return value.is_bool() && value.get_bool().value_unsafe();
      case Test::kIsFalse:
        return value.is_bool() && !value.get_bool().value_unsafe();
      case Test::kNotExists:
        break;
    }
    return false;
  });
}

bool JsonPattern::Matches(std::string_view line, JsonLine& json) const {
  const simdjson::dom::object* object = json.Parse(line);
  return object != nullptr &&
         expression_.Evaluate([object](const Leaf& leaf) { return leaf.HoldsIn(*object); });
}

Clauses JsonPattern::Leaf::GetClauses() const {
  if (test == Test::kNotExists) return {};
  Clauses clauses = selector.GetClauses();
  const Wildcard* text = test == Test::kComparison ? comparison->text() : nullptr;
  if (text == nullptr || comparison->is_negated()) return clauses;
  if (comparison->is_quoted()) {
    std::vector<std::string> pieces = text->pieces();
    pieces.front().insert(0, 1, '"');
    pieces.back() += '"';
    for (const std::string& piece : pieces) {
      if (!piece.empty()) clauses.push_back(JsonTextClause(piece));
    }
  } else {
    for (const std::string& piece : text->pieces()) {
      if (!MayBeInNumber(piece)) clauses.push_back(JsonTextClause(piece));
    }
  }
  return clauses;
}

Needles JsonPattern::GetNeedles() const {
  Needles needles =
      ToNeedles(expression_.GetClauses([](const Leaf& leaf) { return leaf.GetClauses(); }));
  // An object starts with a brace, after optional JSON white space (RFC 8259).
  if (needles.any.empty()) needles.all.push_back({"(?:^|\\r)[\\t\\x20]*\\x7b"});
  return needles;
}

}  // namespace sluice::engine::logmon
