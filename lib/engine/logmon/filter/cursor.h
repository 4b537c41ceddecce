// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a pattern from start to end and records the first error with its position.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::engine::logmon {

class Cursor {
 public:
  /// `pattern` must outlive the cursor.
  explicit Cursor(std::string_view pattern) : pattern_(pattern) {}

  bool AtEnd() const { return at_ == pattern_.size(); }
  /// Returns the next byte, or 0 at the end.
  char Peek() const { return AtEnd() ? '\0' : pattern_[at_]; }
  size_t position() const { return at_; }
  std::string_view rest() const { return pattern_.substr(at_); }
  void Advance(size_t bytes) { at_ += bytes; }
  /// Moves to any position within the pattern.
  void MoveTo(size_t position) { at_ = position; }

  void SkipSpace();
  /// If `token` is next, skips it and returns true.
  bool Consume(std::string_view token);
  /// Like Consume, for a keyword, ignoring case. `word` is in capitals. The keyword must not be
  /// followed by a letter or digit.
  bool ConsumeWord(std::string_view word);

  /// Reads a quoted text; the next byte must be the opening quote. Replaces \" and \\; a backslash
  /// before another byte is a normal character. Returns nullopt and sets the error if the closing
  /// quote is missing or the text contains a line end, which no line can contain.
  std::optional<std::string> ReadQuoted();
  /// Reads the text between percent signs unchanged; the next byte must be the first sign. An
  /// escaped percent sign does not end the text. Returns nullopt and sets the error if the closing
  /// sign is missing.
  std::optional<std::string_view> ReadRegexText();

  /// Reads the closing `sign` of a pattern of kind `name` that started at `begin`; only white space
  /// may follow. `instead` describes the other tokens that are allowed here. Returns false and sets
  /// the error if the sign is missing or other text follows.
  bool ParseClosing(std::string_view sign, size_t begin, std::string_view name,
                    std::string_view instead);

  /// Records an error unless there is one already. Always returns false.
  bool Fail(std::string_view what) { return FailAt(at_, what); }
  bool FailAt(size_t position, std::string_view what);
  bool failed() const { return !error_.empty(); }
  /// Returns "at byte 3: …", counted from 1. The error is one line of ASCII if the text passed to
  /// Fail was.
  const std::string& error() const { return error_; }

 private:
  std::string_view pattern_;
  size_t at_ = 0;
  std::string error_;
};

}  // namespace sluice::engine::logmon
