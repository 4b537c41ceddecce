// SPDX-License-Identifier: BSD-3-Clause
//
// Tokens of the `.x` language (RFC 4506 section 6.2), and rpcgen's "texts". As in rpcgen, a line
// that begins with % is passed to C and ignored here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::rpc {

struct Position {
  uint32_t line = 1;
  uint32_t column = 1;  ///< In bytes, starting at 1.
};

struct Token {
  enum class Kind : uint8_t { kEnd, kWord, kNumber, kText, kSign };

  Kind kind = Kind::kEnd;
  Position position;
  std::string_view text{};  ///< A view of the scanned text.
  int64_t number = 0;       ///< Value of kNumber.
};

/// Scans a text, which must outlive this object. No tokens follow an error.
class Scanner {
 public:
  Scanner(std::string_view text, std::string_view file) : text_(text), file_(file) { Advance(); }

  /// Returns the current token.
  const Token& token() const { return token_; }
  void Advance();

  /// Sets the error to "file:line:column: message", unless an error is already set. Always returns
  /// false.
  bool Fail(Position position, std::string_view message);
  /// Returns a hint for errors about an unknown name, which says that C headers in earlier % lines
  /// are not read. Empty if no line includes a header.
  std::string IncludeHint() const {
    return includes_.empty() ? "" : ": declarations of " + includes_ + " apply to C only";
  }
  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }

 private:
  char At(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool AtEnd() const { return at_ == text_.size(); }
  void Step();
  void SkipLine();
  void SkipLineOfC();
  bool SkipComment();
  bool SkipBlanks();
  void ScanNumber(std::string_view text);
  void ScanText();

  std::string_view text_;
  std::string_view file_;
  size_t at_ = 0;
  Position position_;
  Token token_;
  std::string includes_;  ///< "<a.h>, <b.h>"
  std::string error_;
};

}  // namespace sluice::rpc
