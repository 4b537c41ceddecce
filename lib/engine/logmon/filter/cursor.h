// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a pattern from its beginning to its end, and says what is wrong with it, and where.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::engine::logmon {

class Cursor {
 public:
  /// `pattern` outlives it.
  explicit Cursor(std::string_view pattern) : pattern_(pattern) {}

  bool AtEnd() const { return at_ == pattern_.size(); }
  /// The next byte; 0 at the end.
  char Peek() const { return AtEnd() ? '\0' : pattern_[at_]; }
  size_t position() const { return at_; }
  std::string_view rest() const { return pattern_.substr(at_); }
  void Advance(size_t bytes) { at_ += bytes; }
  /// Back or ahead, within the pattern.
  void MoveTo(size_t position) { at_ = position; }

  void SkipSpace();
  /// Goes behind `token` if it is next.
  bool Take(std::string_view token);
  /// The same for a keyword in capitals, in any case, that no letter or digit follows.
  bool TakeWord(std::string_view word);

  /// What lies between double quotes, with \" and \\ replaced; the first quote is next. A
  /// backslash before anything else stands for itself. Nothing, and an error, without an end or
  /// with a line end inside, which no line has.
  std::optional<std::string> TakeQuoted();
  /// What lies between percent signs, untouched; the first one is next. One behind a backslash
  /// does not end it.
  std::optional<std::string_view> TakeRegex();

  /// Takes the closing `sign` of the pattern, a `name`, which began at `begin`; behind it there is
  /// only space. `instead`: what else may stand in its place. False: an error says what is wrong.
  bool TakeClosing(std::string_view sign, size_t begin, std::string_view name,
                   std::string_view instead);

  /// The first error stays. Always false.
  bool Fail(std::string_view what) { return FailAt(at_, what); }
  bool FailAt(size_t position, std::string_view what);
  bool failed() const { return !error_.empty(); }
  /// "at byte 3: …", counted from 1. One line of ASCII if `what` was.
  const std::string& error() const { return error_; }

 private:
  std::string_view pattern_;
  size_t at_ = 0;
  std::string error_;
};

}  // namespace sluice::engine::logmon
