// SPDX-License-Identifier: BSD-3-Clause
//
// "= 4*", "!= %re%", "> 1000": what a property of a JSON line or a field is compared with.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "engine/logmon/filter/aws_regex.h"
#include "engine/logmon/filter/cursor.h"
#include "engine/logmon/filter/wildcard.h"

namespace sluice::engine::logmon {

/// The whole of `text` as a finite decimal number, scientific notation included. An integer of 64
/// bits is exact.
std::optional<long double> NumberIn(std::string_view text);

class Comparison {
 public:
  /// A comparison that has more than the two regular expressions that a pattern may have is an
  /// error; `regexes` counts them.
  static std::optional<Comparison> Take(Cursor& cursor, int* regexes);

  bool is_negated() const { return operator_ == Operator::kNotEqual; }
  /// Null unless it compares with text; `is_quoted` tells what "404" is.
  const Wildcard* text() const { return std::get_if<Wildcard>(&operand_); }
  const AwsRegex* regex() const { return std::get_if<AwsRegex>(&operand_); }
  bool is_number() const { return std::holds_alternative<long double>(operand_); }
  bool is_quoted() const { return is_quoted_; }

  /// A text that is no number: less and greater do not hold, and it equals no number.
  bool HoldsForText(std::string_view text) const;
  /// A number. It equals no text.
  bool HoldsForNumber(long double number) const;
  /// Text that may be a number: "404" equals 404, as does "404.0".
  bool HoldsForTextOrNumber(std::string_view text) const;

 private:
  enum class Operator { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
  Comparison(Operator given, std::variant<long double, Wildcard, AwsRegex> operand, bool is_quoted)
      : operator_(given), operand_(std::move(operand)), is_quoted_(is_quoted) {}
  static std::optional<Operator> TakeOperator(Cursor& cursor);

  Operator operator_;
  std::variant<long double, Wildcard, AwsRegex> operand_;
  bool is_quoted_;
};

}  // namespace sluice::engine::logmon
