// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/aws_regex.h"

#include <absl/strings/ascii.h>
#include <simdjson.h>

#include "engine/logmon/filter/regex_syntax.h"
#include "engine/logmon/filter/search.h"

namespace sluice::engine::logmon {
namespace {

/// Returns the length of an escape sequence after its backslash, or 0 if the dialect does not allow
/// it.
size_t EscapeBytes(std::string_view behind) {
  if (behind.empty()) return 0;
  const auto c = static_cast<unsigned char>(behind[0]);
  if (c == 'x') {
    const bool is_ascii = behind.size() >= 3 && behind[1] >= '0' && behind[1] <= '7' &&
                          absl::ascii_isxdigit(static_cast<unsigned char>(behind[2]));
    return is_ascii ? 3 : 0;
  }
  if (absl::ascii_isalnum(c)) return std::string_view("dDsSwW").find(behind[0]) != behind.npos;
  return absl::ascii_ispunct(c) || c == ' ' ? 1 : 0;
}

/// Returns the position of the first byte that the dialect does not allow, or npos.
size_t FindForeign(std::string_view text) {
  constexpr std::string_view kOthers = ":_#=@/;,-^$?[]{}|*+.";
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      const size_t bytes = EscapeBytes(text.substr(i + 1));
      if (bytes == 0) return i;
      i += bytes;
    } else if (!absl::ascii_isalnum(static_cast<unsigned char>(text[i])) &&
               kOthers.find(text[i]) == kOthers.npos) {
      return i;
    }
  }
  return std::string_view::npos;
}

bool HasCharacters(const RegexNode& node) {
  if (node.kind == RegexNode::Kind::kSet && node.set[0x80]) return true;
  for (const RegexNode& child : node.children) {
    if (HasCharacters(child)) return true;
  }
  return false;
}

}  // namespace

std::optional<AwsRegex> AwsRegex::Parse(Cursor& cursor) {
  const size_t begin = cursor.position();
  const auto text = cursor.ReadRegexText();
  if (!text) return std::nullopt;
  if (text->empty()) {
    cursor.FailAt(begin, "an empty regular expression");
    return std::nullopt;
  }
  if (const size_t foreign = FindForeign(*text); foreign != std::string_view::npos) {
    cursor.FailAt(begin + 1 + foreign,
                  (*text)[foreign] == '\\'
                      ? "unknown escape in a regular expression"
                      : "invalid character in a regular expression: allowed are letters, digits, : "
                        "_ # = @ / ; , - and ^ $ ? [ ] { } | \\ * + . (others as \\xhh)");
    return std::nullopt;
  }
  AwsRegex regex;
  std::string error;
  regex.bytes_ = CompileRe2(*text, Reading::kBytes, &error);
  const auto tree = ParseRegex(*text);
  if (regex.bytes_ != nullptr && (!tree || HasCharacters(tree->root))) {
    regex.characters_ = CompileRe2(*text, Reading::kCharacters, &error);
  }
  if (!error.empty()) {
    cursor.FailAt(begin, error);
    return std::nullopt;
  }
  if (tree) {
    regex.line_needle_ = NeedleOf(*tree, {.characters = true, .whole_line = true});
    regex.part_needle_ = NeedleOf(*tree, {.characters = true, .whole_line = false});
  }
  return regex;
}

bool AwsRegex::Matches(std::string_view text) const {
  const bool as_characters =
      characters_ != nullptr && simdjson::validate_utf8(text.data(), text.size());
  const RE2& regex = as_characters ? *characters_ : *bytes_;
  return regex.Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), RE2::UNANCHORED,
                     nullptr, 0);
}

}  // namespace sluice::engine::logmon
