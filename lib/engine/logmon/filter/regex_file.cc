// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/regex_file.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>

#include <string_view>
#include <utility>

#include "engine/logmon/filter/fail2ban_config.h"

namespace sluice::engine::logmon {
namespace {

// "Dec  4 04:47:44", "[Sun Dec 04 04:47:44.123 2005]", "2005-12-04T04:47:44,123+01:00".
constexpr char kTimeStamp[] =
    R"((?:\[?(?:(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} {1,2}\d{1,2}(?: \d{4})? \d\d:\d\d:\d\d(?:[.,]\d+)?)"
    R"((?: \d{4})?|\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d)?)\]?)?)";

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty() && line[0] != '#') lines.emplace_back(line);
  }
  return lines;
}

/// What stands between the bars outside of groups and classes.
std::vector<std::string> Alternatives(std::string_view expression) {
  std::vector<std::string> alternatives(1);
  int depth = 0;
  bool in_class = false;
  for (size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '|' && depth == 0 && !in_class) {
      alternatives.emplace_back();
      continue;
    }
    alternatives.back() += c;
    if (c == '\\' && i + 1 < expression.size()) {
      alternatives.back() += expression[++i];
    } else if (in_class) {
      in_class = c != ']' || expression[i - 1] == '[' || expression.substr(0, i).ends_with("[^");
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(' || c == ')') {
      depth += c == '(' ? 1 : -1;
    }
  }
  return alternatives;
}

bool EndsWithAnchor(std::string_view expression) {
  if (!expression.ends_with('$')) return false;
  size_t backslashes = 0;
  while (expression.size() >= backslashes + 2 &&
         expression[expression.size() - backslashes - 2] == '\\') {
    ++backslashes;
  }
  return backslashes % 2 == 0;
}

/// `expression` searched in what <F-CONTENT> of `prefix` matches, which goes on as far as it can.
std::string Within(std::string_view prefix, const std::string& expression) {
  constexpr std::string_view kOpen = "<F-CONTENT>", kClose = "</F-CONTENT>";
  const size_t open = prefix.find(kOpen), close = prefix.find(kClose);
  if (open == prefix.npos || close == prefix.npos || close < open) return expression;
  std::string inner;
  for (std::string_view one : Alternatives(expression)) {
    const bool begins = one.starts_with('^');
    if (begins) one.remove_prefix(1);
    const bool ends = EndsWithAnchor(one);
    if (ends) one.remove_suffix(1);
    absl::StrAppend(&inner, inner.empty() ? "" : "|", begins ? "" : ".*",
                    absl::string_view(one.data(), one.size()), ends ? "" : ".*");
  }
  return absl::StrCat(std::string(prefix.substr(0, open)), "(?:", inner, ")",
                      std::string(prefix.substr(close + kClose.size())));
}

/// With time stamps, which fail2ban takes out of lines: [] is what it leaves of one in brackets.
std::string WithTimeStamps(const std::string& expression) {
  std::string out;
  for (std::string one : Alternatives(expression)) {
    one = absl::StrReplaceAll(one, {{R"(\[\])", R"(\[[^\]]*\])"}});
    if (!out.empty()) out += '|';
    if (one.starts_with('^')) {
      absl::StrAppend(&out, "^", kTimeStamp, one.substr(1));
    } else {
      out += one;
    }
  }
  return out;
}

bool IsFail2ban(const std::string& text) {
  for (const std::string& line : Lines(text)) {
    if (line == "[Definition]") return true;
  }
  return false;
}

}  // namespace

std::optional<std::vector<std::string>> ReadRegexFile(const std::filesystem::path& file,
                                                      std::string* error) {
  const auto text = ReadTextFile(file, error);
  if (!text) return std::nullopt;
  if (!IsFail2ban(*text)) return Lines(*text);
  std::string why;
  const auto config = Fail2banConfig::Parse(file, *text, &why);
  const auto prefix = config ? config->Get("prefregex", &why) : std::nullopt;
  const auto expressions = prefix ? config->Get("failregex", &why) : std::nullopt;
  if (!expressions) {
    *error = absl::StrCat(file.string(), ": ", why);
    return std::nullopt;
  }
  std::vector<std::string> out;
  for (const std::string& expression : Lines(*expressions)) {
    out.push_back(WithTimeStamps(Within(*prefix, expression)));
  }
  return out;
}

}  // namespace sluice::engine::logmon
