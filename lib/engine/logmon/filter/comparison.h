// SPDX-License-Identifier: BSD-3-Clause
//
// Compares a JSON property or a field with an operand: "= 4*", "!= %re%", "> 1000".
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "engine/logmon/filter/aws_regex.h"
#include "engine/logmon/filter/cursor.h"
#include "engine/logmon/filter/wildcard.h"

namespace sluice::engine::logmon {

/// Parses all of `text` as a finite decimal number, optionally in scientific notation. 64-bit
/// integers are exact.
std::optional<long double> NumberIn(std::string_view text);

class Comparison {
 public:
  /// Parses a comparison. `regexes` counts the regular expressions of the whole pattern; more than
  /// two are an error.
  static std::optional<Comparison> Parse(Cursor& cursor, int* regexes);

  bool is_negated() const { return operator_ == Operator::kNotEqual; }
  /// Returns the text operand, or null for other operands. `is_quoted` distinguishes the text "404"
  /// from the number 404.
  const Wildcard* text() const { return std::get_if<Wildcard>(&operand_); }
  const AwsRegex* regex() const { return std::get_if<AwsRegex>(&operand_); }
  bool is_number() const { return std::holds_alternative<long double>(operand_); }
  bool is_quoted() const { return is_quoted_; }

  /// Compares a text that is not a number. Such a text is not equal to, less than or greater than
  /// any number.
  bool HoldsForText(std::string_view text) const;
  /// Compares a number, which is not equal to any text.
  bool HoldsForNumber(long double number) const;
  /// Compares a text that may be a number: "404" and "404.0" equal 404.
  bool HoldsForTextOrNumber(std::string_view text) const;

 private:
  enum class Operator { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
  Comparison(Operator given, std::variant<long double, Wildcard, AwsRegex> operand, bool is_quoted)
      : operator_(given), operand_(std::move(operand)), is_quoted_(is_quoted) {}
  static std::optional<Operator> ParseOperator(Cursor& cursor);

  Operator operator_;
  std::variant<long double, Wildcard, AwsRegex> operand_;
  bool is_quoted_;
};

}  // namespace sluice::engine::logmon
