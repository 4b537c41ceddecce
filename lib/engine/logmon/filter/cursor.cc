// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/cursor.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

namespace sluice::engine::logmon {

void Cursor::SkipSpace() {
  while (!AtEnd() && absl::ascii_isspace(static_cast<unsigned char>(Peek()))) ++at_;
}

bool Cursor::Consume(std::string_view token) {
  if (!rest().starts_with(token)) return false;
  at_ += token.size();
  return true;
}

bool Cursor::ConsumeWord(std::string_view word) {
  const std::string_view next = rest().substr(0, word.size());
  if (!absl::EqualsIgnoreCase({next.data(), next.size()}, {word.data(), word.size()})) return false;
  const std::string_view after = rest().substr(word.size());
  if (!after.empty() && absl::ascii_isalnum(static_cast<unsigned char>(after[0]))) return false;
  at_ += word.size();
  return true;
}

std::optional<std::string> Cursor::ReadQuoted() {
  const size_t begin = at_;
  std::string text;
  for (++at_; !AtEnd(); ++at_) {
    const char c = Peek();
    if (c == '"') {
      ++at_;
      return text;
    }
    if (c == '\r' || c == '\n') {
      Fail("a line ends inside quotes");
      return std::nullopt;
    }
    if (c == '\\' && (rest().starts_with("\\\"") || rest().starts_with("\\\\"))) ++at_;
    text.push_back(Peek());
  }
  FailAt(begin, "the closing quote is missing");
  return std::nullopt;
}

std::optional<std::string_view> Cursor::ReadRegexText() {
  const size_t begin = at_;
  for (++at_; !AtEnd(); ++at_) {
    if (Peek() == '%') return pattern_.substr(begin + 1, at_++ - begin - 1);
    if (Peek() == '\\' && rest().size() > 1) ++at_;
  }
  FailAt(begin, "the closing percent sign is missing");
  return std::nullopt;
}

bool Cursor::ParseClosing(std::string_view sign, size_t begin, std::string_view name,
                          std::string_view instead) {
  if (!Consume(sign)) {
    return AtEnd()
               ? FailAt(begin, "no closing " + std::string(name))
               : Fail(std::string(instead) + " or a closing " + std::string(name) + " is missing");
  }
  SkipSpace();
  return AtEnd() || Fail("unexpected text after the closing " + std::string(name));
}

bool Cursor::FailAt(size_t position, std::string_view what) {
  if (error_.empty()) {
    error_ =
        absl::StrCat("at byte ", position + 1, ": ", absl::string_view(what.data(), what.size()));
  }
  return false;
}

}  // namespace sluice::engine::logmon
