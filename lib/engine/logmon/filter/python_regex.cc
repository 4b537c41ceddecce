// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/python_regex.h"

#include <algorithm>

namespace sluice::engine::logmon {
namespace {

// Python's \s for ASCII, which differs from RE2's and PCRE2's.
constexpr std::string_view kSpaceClass = R"(\t-\r\x1c-\x1f\x20)";

class Translator {
 public:
  explicit Translator(std::string_view text) : rest_(text) {}

  std::string Run() {
    while (!rest_.empty()) {
      const char c = rest_[0];
      if (c == '\\' && rest_.size() > 1) {
        Escape();
      } else if (c == '[') {
        Class();
      } else if (c == '(' && rest_.starts_with("(?")) {
        Group();
      } else if (c == '{') {
        Brace();
      } else if (c == '$') {
        // Python's $ also matches before a line end at the end of the text.
        Replace(1, "(?m:$)");
      } else {
        Copy(1);
      }
    }
    return std::move(out_);
  }

 private:
  void Copy(size_t bytes) { Replace(bytes, rest_.substr(0, bytes)); }
  void Replace(size_t bytes, std::string_view text) {
    out_ += text;
    rest_.remove_prefix(std::min(bytes, rest_.size()));
  }

  void Escape() {
    switch (rest_[1]) {
      case 'Z':
        return Replace(2, "\\z");
      case 's':
        return Replace(2, "[" + std::string(kSpaceClass) + "]");
      case 'S':
        return Replace(2, "[^" + std::string(kSpaceClass) + "]");
      default:
        EscapedByte();
    }
  }
  void EscapedByte() {
    const auto byte = static_cast<unsigned char>(rest_[1]);
    if (byte == 'v') return Replace(2, "\\x0b");
    // RE2 accepts a backslash before all ASCII punctuation except the underscore.
    if (byte == '_' || byte >= 0x80) return Replace(2, rest_.substr(1, 1));
    Copy(2);
  }

  void Class() {
    Copy(rest_.starts_with("[^") ? 2 : 1);
    for (bool first = true; !rest_.empty() && (first || rest_[0] != ']'); first = false) {
      const char c = rest_[0];
      if (c == ']' || c == '[') {  // RE2 and PCRE2 parse "[:" as the start of a class name.
        Replace(1, c == ']' ? "\\]" : "\\[");
      } else if (c != '\\' || rest_.size() == 1) {
        Copy(1);
      } else if (rest_[1] == 's') {
        Replace(2, kSpaceClass);
      } else if (rest_[1] == 'b') {
        Replace(2, "\\x08");
      } else {
        EscapedByte();
      }
    }
    Copy(1);
  }

  void Group() {
    const size_t close = rest_.find(')');
    if (close == rest_.npos) return Copy(2);
    if (rest_[2] == '#') return Replace(close + 1, "");
    if (rest_[2] == '(') {
      const std::string name(rest_.substr(3, close - 3));
      const bool is_number = name.find_first_not_of("0123456789") == name.npos;
      return Replace(close + 1, is_number ? "(?(" + name + ")" : "(?(<" + name + ">)");
    }
    const size_t end = rest_.find_first_not_of("aiLmsux-", 2);
    if (end == 2 || (rest_[end] != ')' && rest_[end] != ':')) return Copy(2);
    std::string flags(rest_.substr(2, end - 2));
    std::erase_if(flags, [](char flag) { return flag == 'a' || flag == 'L' || flag == 'u'; });
    if (flags.empty() && rest_[end] == ')') return Replace(end + 1, "");
    Replace(end + 1, "(?" + flags + rest_[end]);
  }

  /// Translates a brace, which is a normal character unless it starts a repetition count.
  void Brace() {
    const size_t end = rest_.find('}');
    const std::string_view counts = rest_.substr(1, end == rest_.npos ? 0 : end - 1);
    const bool is_right = counts.find_first_not_of("0123456789,") == counts.npos &&
                          std::count(counts.begin(), counts.end(), ',') <= 1 &&
                          counts.find_first_of("0123456789,") != counts.npos;
    if (!is_right) return Replace(1, "\\{");
    if (counts == ",") return Replace(3, "*");
    if (counts[0] == ',') return Replace(2, "{0,");
    Copy(end + 1);
  }

  std::string_view rest_;
  std::string out_;
};

}  // namespace

std::string FromPython(std::string_view expression, bool multi_line) {
  const std::string common = Translator(expression).Run();
  return multi_line ? "(?m)" + common : common;
}

}  // namespace sluice::engine::logmon
