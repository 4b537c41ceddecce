// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/x_scanner.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace sluice::rpc {
namespace {

constexpr size_t kMaxWordBytes = 255;

// Tests for ASCII characters, independent of the locale.
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsOfWord(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }

std::string Printable(char c) {
  constexpr char kDigits[] = "0123456789abcdef";
  if (c >= ' ' && c <= '~') return {'\'', c, '\''};
  return {'0', 'x', kDigits[static_cast<uint8_t>(c) >> 4], kDigits[c & 0xf]};
}

}  // namespace

bool Scanner::Fail(Position position, std::string_view message) {
  if (error_.empty()) {
    error_ = std::string(file_) + ":" + std::to_string(position.line) + ":" +
             std::to_string(position.column) + ": " + std::string(message);
  }
  token_ = {.position = position};
  at_ = text_.size();
  return false;
}

void Scanner::Step() {
  if (text_[at_++] == '\n') {
    ++position_.line;
    position_.column = 1;
  } else {
    ++position_.column;
  }
}

void Scanner::SkipLine() {
  while (!AtEnd() && At() != '\n') Step();
}

/// Skips a line meant for C. If the line includes a header, stores the header's name.
void Scanner::SkipLineOfC() {
  const size_t begin = at_;
  SkipLine();
  std::string_view line = text_.substr(begin + 1, at_ - begin - 1);
  const auto skip = [&](std::string_view what) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with(what)) return false;
    line.remove_prefix(what.size());
    return true;
  };
  if (!skip("#") || !skip("include") || !skip("") || line.empty()) return;
  const size_t end = line.find(line[0] == '<' ? '>' : '"', 1);
  if ((line[0] != '<' && line[0] != '"') || end == std::string_view::npos) return;
  if (includes_.size() > kMaxWordBytes) return;
  if (!includes_.empty()) includes_ += ", ";
  includes_ += line.substr(0, end + 1);
}

bool Scanner::SkipComment() {
  const Position begin = position_;
  Step();
  Step();
  while (!AtEnd() && !(At() == '*' && At(1) == '/')) Step();
  if (AtEnd()) return Fail(begin, "the end of this comment is missing");
  Step();
  Step();
  return true;
}

/// Skips blanks, comments and lines meant for C. Returns false after an error.
bool Scanner::SkipBlanks() {
  while (!AtEnd()) {
    const char c = At();
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
      Step();
    } else if (c == '%' && position_.column == 1) {
      SkipLineOfC();
    } else if (c == '/' && At(1) == '*') {
      if (!SkipComment()) return false;
    } else {
      break;
    }
  }
  return true;
}

void Scanner::ScanNumber(std::string_view text) {
  std::string_view digits = text;
  const bool negative = digits.front() == '-';
  if (negative) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    base = digits[1] == 'x' || digits[1] == 'X' ? 16 : 8;
    digits.remove_prefix(base == 16 ? 2 : 1);
  }
  const char* const end = digits.data() + digits.size();
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), end, number, base);
  if (error == std::errc::result_out_of_range) {
    Fail(token_.position, "this number is too large");
  } else if (error != std::errc() || stop != end || digits.front() == '-') {
    Fail(token_.position, "'" + std::string(text) + "' is not a number");
  } else {
    token_.kind = Token::Kind::kNumber;
    token_.number = negative ? -number : number;
  }
}

/// Scans a text from one quote to the next on the same line, as in rpcgen.
void Scanner::ScanText() {
  const size_t begin = at_;
  do Step();
  while (!AtEnd() && At() != '"' && At() != '\n');
  if (At() != '"') {
    Fail(token_.position, "the closing quote of this text is missing");
    return;
  }
  Step();
  token_.kind = Token::Kind::kText;
  token_.text = text_.substr(begin, at_ - begin);
}

void Scanner::Advance() {
  token_ = {};
  if (!SkipBlanks()) return;
  token_.position = position_;
  if (AtEnd()) return;
  const size_t begin = at_;
  const char first = At();
  if (first == '#' && position_.column == 1) {
    Fail(position_, "a preprocessor directive: run the file through cpp -P first");
    return;
  }
  if (first == '"') return ScanText();
  const bool number = IsDigit(first) || (first == '-' && IsDigit(At(1)));
  if (!number && !IsLetter(first) && first != '_' &&
      (first == '\0' || std::string_view("{}()[]<>,;:=*").find(first) == std::string_view::npos)) {
    Fail(position_, "unexpected " + Printable(first));
    return;
  }
  Step();
  if (number || IsOfWord(first)) {
    while (!AtEnd() && IsOfWord(At())) Step();
  }
  token_.text = text_.substr(begin, at_ - begin);
  if (token_.text.size() > kMaxWordBytes) {
    Fail(token_.position, "a word is longer than 255 characters");
  } else if (number) {
    ScanNumber(token_.text);
  } else {
    token_.kind = IsOfWord(first) ? Token::Kind::kWord : Token::Kind::kSign;
  }
}

}  // namespace sluice::rpc
