// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/field_pattern.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <utility>

#include "engine/logmon/filter/field_reader.h"

namespace sluice::engine::logmon {
namespace {

std::string_view ParseName(Cursor& cursor) {
  const std::string_view rest = cursor.rest();
  const auto end = std::find_if_not(rest.begin(), rest.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  });
  const auto bytes = static_cast<size_t>(end - rest.begin());
  cursor.Advance(bytes);
  return rest.substr(0, bytes);
}

bool IsAtFieldEnd(const Cursor& cursor) { return cursor.Peek() == ',' || cursor.Peek() == ']'; }

std::optional<Comparison> ParseComparison(Cursor& cursor, std::string* name, int* regexes) {
  const size_t begin = cursor.position();
  const std::string_view given = ParseName(cursor);
  if (given.empty()) {
    cursor.Fail("the name of a field is missing: use letters, digits, _, - and .");
    return std::nullopt;
  }
  if (name->empty()) name->assign(given);
  if (*name != given) {
    cursor.FailAt(begin, "a condition must refer to the same field as the previous condition");
    return std::nullopt;
  }
  cursor.SkipSpace();
  return Comparison::Parse(cursor, regexes);
}

/// Returns the clauses for lines with a field for which the comparison holds.
Clauses ClausesOf(const Comparison& comparison) {
  Clauses clauses;
  if (comparison.is_negated()) return clauses;
  if (const Wildcard* text = comparison.text()) {
    for (const std::string& piece : text->pieces()) {
      if (!piece.empty()) clauses.push_back(LiteralClause(piece));
    }
  }
  if (const AwsRegex* regex = comparison.regex(); regex != nullptr && regex->part_needle()) {
    clauses.push_back({.any = {regex->part_needle()->needle}, .strength = 1});
  }
  return clauses;
}

}  // namespace

std::optional<FieldPattern::Field> FieldPattern::ParseField(Cursor& cursor, int* regexes) {
  Field field;
  const size_t begin = cursor.position();
  field.name.assign(ParseName(cursor));
  cursor.SkipSpace();
  if (IsAtFieldEnd(cursor) || cursor.AtEnd()) return field;
  cursor.MoveTo(begin);
  field.name.clear();
  field.condition = Expression<Comparison>::Parse(
      cursor, [&](Cursor& at) { return ParseComparison(at, &field.name, regexes); });
  if (!field.condition) return std::nullopt;
  return field;
}

bool FieldPattern::ParseFields(Cursor& cursor) {
  int regexes = 0;
  do {
    cursor.SkipSpace();
    const size_t at = cursor.position();
    if (cursor.Consume("...")) {
      if (dots_) return cursor.FailAt(at, "three dots may appear only once");
      dots_ = fields_.size();
      cursor.SkipSpace();
    } else {
      auto field = ParseField(cursor, &regexes);
      if (!field) return false;
      fields_.push_back(*std::move(field));
    }
  } while (cursor.Consume(","));
  return true;
}

std::optional<FieldPattern> FieldPattern::Parse(Cursor& cursor) {
  const size_t begin = cursor.position();
  cursor.Consume("[");
  FieldPattern pattern;
  cursor.SkipSpace();
  if (cursor.Peek() == ']') {
    pattern.dots_ = 0;
  } else if (!pattern.ParseFields(cursor)) {
    return std::nullopt;
  }
  if (!cursor.ParseClosing("]", begin, "bracket", "a comma")) return std::nullopt;
  return pattern;
}

bool FieldPattern::Split(std::string_view line, std::vector<std::string_view>& fields) const {
  const size_t head = dots_.value_or(fields_.size());
  const size_t tail = fields_.size() - head;
  fields.clear();
  FieldReader reader(line);
  size_t count = 0;
  for (auto field = reader.Next(); field; field = reader.Next(), ++count) {
    if (count < fields_.size()) {
      fields.push_back(*field);
    } else if (!dots_) {
      return false;
    } else if (tail == 0) {
      return true;
    } else {
      // The newest fields are in a ring after the first ones.
      fields[head + (count - head) % tail] = *field;
    }
  }
  if (count < fields_.size()) return false;
  if (tail != 0) {
    const auto first = fields.begin() + static_cast<ptrdiff_t>(head);
    std::rotate(first, first + static_cast<ptrdiff_t>((count - head) % tail), fields.end());
  }
  return true;
}

bool FieldPattern::Matches(std::string_view line, std::vector<std::string_view>& fields) const {
  if (!Split(line, fields)) return false;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const auto holds = [&](const Comparison& comparison) {
      return comparison.HoldsForTextOrNumber(fields[i]);
    };
    if (fields_[i].condition && !fields_[i].condition->Evaluate(holds)) return false;
  }
  return true;
}

Needles FieldPattern::GetNeedles() const {
  Clauses clauses;
  for (const Field& field : fields_) {
    if (field.condition) {
      clauses = Both(std::move(clauses), field.condition->GetClauses(ClausesOf));
    }
  }
  return ToNeedles(clauses);
}

std::string_view FieldPattern::NameOf(size_t number, size_t count) const {
  const size_t head = dots_.value_or(fields_.size());
  const size_t tail = fields_.size() - head;
  if (number < head) return fields_[number].name;
  if (number + tail < count) return {};
  return fields_[number + fields_.size() - count].name;
}

std::vector<std::string> FieldPattern::names() const {
  std::vector<std::string> names;
  for (const Field& field : fields_) names.push_back(field.name);
  return names;
}

}  // namespace sluice::engine::logmon
