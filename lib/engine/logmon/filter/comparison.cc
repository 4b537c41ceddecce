// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/comparison.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace sluice::engine::logmon {
namespace {

constexpr int kMaxRegexes = 2;

/// Reads an unquoted operand, up to a byte that ends an operand in a JSON pattern or a
/// space-delimited pattern.
std::string_view ParseBare(Cursor& cursor) {
  constexpr std::string_view kEnds = "()[]{},&|=!<>\" \t\r\n\v\f";
  const std::string_view rest = cursor.rest();
  const std::string_view text = rest.substr(0, std::min(rest.find_first_of(kEnds), rest.size()));
  cursor.Advance(text.size());
  return text;
}

template <typename Number>
std::optional<Number> Whole(std::string_view text) {
  Number number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<long double> NumberIn(std::string_view text) {
  const bool is_positive = text.starts_with('+');
  if (is_positive) text.remove_prefix(1);
  const size_t sign = !is_positive && text.starts_with('-') ? 1 : 0;
  // Rejects "nan" and "inf".
  if (text.size() <= sign) return std::nullopt;
  if (!absl::ascii_isdigit(static_cast<unsigned char>(text[sign])) && text[sign] != '.') {
    return std::nullopt;
  }
  if (const auto integer = Whole<int64_t>(text)) return *integer;
  if (const auto integer = Whole<uint64_t>(text)) return *integer;
  const auto number = Whole<double>(text);
  return number && std::isfinite(*number) ? std::optional<long double>(*number) : std::nullopt;
}

std::optional<Comparison::Operator> Comparison::ParseOperator(Cursor& cursor) {
  if (cursor.Consume("!=")) return Operator::kNotEqual;
  if (cursor.Consume("<=")) return Operator::kLessEqual;
  if (cursor.Consume(">=")) return Operator::kGreaterEqual;
  if (cursor.Consume("<")) return Operator::kLess;
  if (cursor.Consume(">")) return Operator::kGreater;
  if (cursor.Consume("=")) return Operator::kEqual;
  cursor.Fail("an operator is missing: = != < <= > or >=");
  return std::nullopt;
}

std::optional<Comparison> Comparison::Parse(Cursor& cursor, int* regexes) {
  const auto given = ParseOperator(cursor);
  if (!given) return std::nullopt;
  cursor.SkipSpace();
  const size_t begin = cursor.position();
  const bool is_ordered = *given != Operator::kEqual && *given != Operator::kNotEqual;
  if (is_ordered && (cursor.Peek() == '%' || cursor.Peek() == '"')) {
    cursor.Fail("< and > require a number");
    return std::nullopt;
  }
  if (cursor.Peek() == '%') {
    auto regex = AwsRegex::Parse(cursor);
    if (!regex) return std::nullopt;
    if (++*regexes > kMaxRegexes) {
      cursor.FailAt(begin, "a pattern may have at most two regular expressions");
      return std::nullopt;
    }
    return Comparison(*given, *std::move(regex), false);
  }
  if (cursor.Peek() == '"') {
    const auto text = cursor.ReadQuoted();
    if (!text) return std::nullopt;
    return Comparison(*given, Wildcard(*text), true);
  }
  const std::string_view text = ParseBare(cursor);
  if (const auto number = NumberIn(text)) return Comparison(*given, *number, false);
  if (text.empty() || is_ordered) {
    cursor.FailAt(begin, is_ordered ? "a number is missing" : "a value is missing");
    return std::nullopt;
  }
  return Comparison(*given, Wildcard(text), false);
}

bool Comparison::HoldsForText(std::string_view text) const {
  bool is_equal = false;
  if (const Wildcard* wildcard = this->text()) is_equal = wildcard->Matches(text);
  if (const AwsRegex* expression = regex()) is_equal = expression->Matches(text);
  return is_negated() ? !is_equal : operator_ == Operator::kEqual && is_equal;
}

bool Comparison::HoldsForNumber(long double number) const {
  const auto* operand = std::get_if<long double>(&operand_);
  if (operand == nullptr) return is_negated();
  switch (operator_) {
    case Operator::kEqual:
      return number == *operand;
    case Operator::kNotEqual:
      return number != *operand;
    case Operator::kLess:
      return number < *operand;
    case Operator::kLessEqual:
      return number <= *operand;
    case Operator::kGreater:
      return number > *operand;
    case Operator::kGreaterEqual:
      return number >= *operand;
  }
  return false;
}

bool Comparison::HoldsForTextOrNumber(std::string_view text) const {
  if (is_number()) {
    if (const auto number = NumberIn(text)) return HoldsForNumber(*number);
  }
  return HoldsForText(text);
}

}  // namespace sluice::engine::logmon
