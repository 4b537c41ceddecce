// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/date_templates.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>

#include <memory>
#include <utility>

#include "engine/logmon/filter/pcre2_regex.h"

namespace sluice::engine::logmon {
namespace {

constexpr std::string_view kLineBegin = "{^LN-BEG}", kUnbound = "{UNB}";

// In the order in which they are tried.
constexpr const char* kDefaults[] = {
    R"(%ExY(?P<_sep>[-/.])%m(?P=_sep)%d(?:T|  ?)%H:%M:%S(?:[.,]%f)?(?:\s*%z)?)",
    R"((?:%a )?%b %d %k:%M:%S(?:\.%f)?(?: %ExY)?)",
    R"((?:%a )?%b %d %ExY %k:%M:%S(?:\.%f)?)",
    R"(%d(?P<_sep>[-/])%m(?P=_sep)(?:%ExY|%Exy) %k:%M:%S)",
    R"(%d(?P<_sep>[-/])%b(?P=_sep)%ExY[ :]?%H:%M:%S(?:\.%f)?(?: %z)?)",
    R"(%m/%d/%ExY:%H:%M:%S)",
    R"(%m-%d-%ExY %k:%M:%S(?:\.%f)?)",
    R"(EPOCH)",
    R"({^LN-BEG}%H:%M:%S)",
    R"(^<%m/%d/%Exy@%H:%M:%S>)",
    R"(%Exy%Exm%Exd  ?%H:%M:%S)",
    R"(%b %d, %ExY %I:%M:%S %p)",
    R"(^%b-%d-%Exy %k:%M:%S)",
    R"(%ExY%Exm%Exd(?:T|  ?)%ExH%ExM%ExS(?:[.,]%f)?(?:\s*%z)?)",
    R"((?:%Z )?(?:%a )?%b %d %k:%M:%S(?:\.%f)?(?: %ExY)?)",
    R"((?:%z )?(?:%a )?%b %d %k:%M:%S(?:\.%f)?(?: %ExY)?)",
    R"(TAI64N)",
};

// Fields after a percent sign; longer names precede shorter ones. Years are limited to those of
// this century that a log can contain.
constexpr std::pair<std::string_view, std::string_view> kFields[] = {
    {"ExZ", R"((?P<Z>[A-Z](?:[A-Z]{2,4})?))"},
    {"Exz", R"((?P<z>(?:[A-Z](?:[A-Z]{2,4})?)?[+-][01]\d(?::?\d{2})?|[A-Z](?:[A-Z]{2,4})?))"},
    {"Exd", R"((?P<d>[1-2]\d|0[1-9]|3[0-1]))"},
    {"Exm", R"((?P<m>0[1-9]|1[0-2]))"},
    {"ExH", R"((?P<H>[0-1]\d|2[0-3]))"},
    {"Exk", R"( ?(?P<H>[0-1]?\d|2[0-3]))"},
    {"Exl", R"( ?(?P<I>1[0-2]|\d))"},
    {"ExM", R"((?P<M>[0-5]\d))"},
    {"ExS", R"((?P<S>[0-5]\d|6[0-1]))"},
    {"ExY", R"((?P<Y>20[0-3]\d))"},
    {"Exy", R"((?P<y>\d{2}))"},
    {"%", "%"},
    {"A", R"((?P<A>wednesday|thursday|saturday|tuesday|monday|friday|sunday))"},
    {"B", R"((?P<B>september|february|november|december|january|october|august|march|april|june|)"
          R"(july|may))"},
    {"a", R"((?P<a>mon|tue|wed|thu|fri|sat|sun))"},
    {"b", R"((?P<b>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"},
    {"d", R"((?P<d>[1-2]\d|[0 ]?[1-9]|3[0-1]))"},
    {"f", R"((?P<f>[0-9]{1,6}))"},
    {"G", R"((?P<G>\d\d\d\d))"},
    {"H", R"((?P<H>[0-1]?\d|2[0-3]))"},
    {"I", R"((?P<I>1[0-2]|0[1-9]|[1-9]))"},
    {"j", R"((?P<j>36[0-6]|3[0-5]\d|[1-2]\d\d|0[1-9]\d|00[1-9]|[1-9]\d|0[1-9]|[1-9]))"},
    {"k", R"( ?(?P<H>[0-2]?\d))"},
    {"l", R"( ?(?P<I>1?\d))"},
    {"M", R"((?P<M>[0-5]?\d))"},
    {"m", R"((?P<m>0?[1-9]|1[0-2]))"},
    {"p", R"((?P<p>am|pm))"},
    {"S", R"((?P<S>[0-5]?\d|6[0-1]))"},
    {"U", R"((?P<U>5[0-3]|[0-4]\d|\d))"},
    {"u", R"((?P<u>[1-7]))"},
    {"V", R"((?P<V>5[0-3]|0[1-9]|[1-4]\d|\d))"},
    {"W", R"((?P<W>5[0-3]|[0-4]\d|\d))"},
    {"w", R"((?P<w>[0-6]))"},
    {"Y", R"((?P<Y>\d{4}))"},
    {"y", R"((?P<y>\d\d))"},
    {"Z", R"((?P<Z>Z|[A-Z]{3,5}))"},
    {"z", R"((?P<z>Z|UTC|GMT|[+-][01]\d(?::?\d{2})?))"},
};

constexpr std::string_view kEpoch = R"(\d{10,11}\b(?:\.\d{3,6})?)";
constexpr std::string_view kLongEpoch = R"(\d{10,11}(?:\d{3}(?:\.\d{1,6}|\d{3})?)?)";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

/// Returns the first match of `expression` in `text`, or a view without data if nothing matches.
std::string_view Found(const char* expression, std::string_view text) {
  std::string error;
  Pcre2Memory memory;
  std::vector<std::string_view> groups;
  const auto regex = Pcre2Regex::Compile(expression, &error);
  return regex->Search(text, memory, &groups) ? groups[0] : std::string_view();
}
bool Has(const char* expression, std::string_view text) {
  return Found(expression, text).data() != nullptr;
}
void Erase(std::string_view part, std::string* of) {
  if (part.data() != nullptr) of->erase(static_cast<size_t>(part.data() - of->data()), part.size());
}

enum class Begin { kAnywhere, kWord, kLine };

/// Implements DateTemplate.setRegex.
DateTemplate Bound(std::string regex, Begin begin, bool word_end) {
  regex = std::string(absl::StripAsciiWhitespace(regex));
  const std::string_view flags_found = Found(R"(\(\?[a-z]+\))", regex);
  const std::string flags(flags_found);
  Erase(flags_found, &regex);
  const bool bound_begin =
      begin != Begin::kAnywhere && !Has(R"(^\(*(?:\(\?\w+\))?(?:\^|\(*\*\*|\((?:\?:)?\^))", regex);
  const bool bound_end = word_end && !Has(R"((?<!\\)(?:\$\)?|\\b|\\s|\*\*\)*)$)", regex);
  if (!Has(R"((?<!(?:\(\?))(?<!\\)\((?!\?))", regex)) {
    const size_t from = regex.starts_with('^') ? 1 : 0;
    const size_t to = regex.size() - (regex.size() > from && regex.ends_with('$') ? 1 : 0);
    regex = absl::StrCat(regex.substr(0, from), "(", regex.substr(from, to - from), ")",
                         regex.substr(to));
  }
  DateTemplate made;
  if (bound_begin) {
    made.line_begin = begin == Begin::kLine;
    regex.insert(0, made.line_begin ? R"(^(?:\W{0,2})?)" : R"((?=^|\b|\W))");
  }
  if (bound_end) regex += R"((?=\b|\W|$))";
  made.line_begin |= Has(R"(^(?:\(\?\w+\))?(?:\^|\((?:\?:)?\^(?!\|)))", regex);
  made.line_end = Has(R"((?<![\\\|])(?:\$\)?)$)", regex);
  for (const char* bounds : {R"(^\(*(?:\(\?\w+\))?\(*\*\*)", R"((?<!\\)\*\*\)*$)"}) {
    if (const std::string_view stars = Found(bounds, regex); stars.data() != nullptr) {
      regex.erase(static_cast<size_t>(stars.data() - regex.data()) + stars.find("**"), 2);
    }
  }
  made.regex = flags + regex;
  return made;
}

std::string WithFields(std::string_view pattern) {
  std::string out;
  while (!pattern.empty()) {
    size_t taken = 1;
    std::string_view text = pattern.substr(0, 1);
    if (pattern[0] == '%') {
      for (const auto& [name, regex] : kFields) {
        if (!pattern.substr(1).starts_with(name)) continue;
        taken = 1 + name.size();
        text = regex;
        break;
      }
    }
    out += text;
    pattern.remove_prefix(taken);
  }
  return out;
}

bool ConsumePrefix(std::string_view token, std::string_view* from) {
  if (!from->starts_with(token)) return false;
  from->remove_prefix(token.size());
  return true;
}

/// Implements DatePatternRegex.setRegex.
DateTemplate OfFields(std::string_view pattern) {
  Begin begin = Begin::kWord;
  bool word_end = true;
  if (ConsumePrefix(kUnbound, &pattern)) {
    begin = Begin::kAnywhere;
    word_end = false;
  } else if (ConsumePrefix(kLineBegin, &pattern)) {
    begin = Begin::kLine;
  }
  const bool has_words = Has(R"((?<!\%)\%[aAbBpc])", pattern);
  return Bound((has_words ? "(?i)" : "") + WithFields(pattern), begin, word_end);
}

/// Implements DateEpoch.
DateTemplate Epoch(std::string_view key, std::string_view pattern) {
  const bool is_long = key.find("LEPOCH") != key.npos;
  const std::string epoch(is_long ? kLongEpoch : kEpoch);
  if (const std::string_view found = Found(R"((?i)(?<!\\)\{L?EPOCH\})", pattern);
      found.data() != nullptr) {
    std::string regex(pattern);
    regex.replace(static_cast<size_t>(found.data() - pattern.data()), found.size(),
                  "(" + epoch + ")");
    return Bound("(" + regex + ")", Begin::kWord, true);
  }
  if (key == "EPOCH" || key == "LEPOCH") {
    return Bound(absl::StrCat(R"(((?:^|(?P<square>(?<=^\[))|(?P<selinux>(?<=\baudit\())))", epoch,
                              R"()(?:(?(selinux)(?=:\d+\)))|(?(square)(?=\]))))"),
                 Begin::kAnywhere, true);
  }
  return Bound(absl::StrCat(R"(((?P<square>(?<=^\[))?)", epoch, R"()(?(square)(?=\])))"),
               Begin::kLine, true);
}

std::string KeyOf(std::string_view pattern) {
  return pattern.find('%') == pattern.npos ? absl::AsciiStrToUpper(View(pattern))
                                           : std::string(pattern);
}

/// Returns `key` without the prefix that binds it to the start of a line.
std::string_view NameOf(std::string_view key) {
  if (!ConsumePrefix(kLineBegin, &key)) ConsumePrefix("^", &key);
  return key;
}

DateTemplate OfPattern(std::string_view pattern) {
  const std::string key = KeyOf(pattern);
  const std::string_view name = NameOf(key);
  if (name == "EPOCH" || name == "LEPOCH" || Has(R"((?i)(?<!\\)\{L?EPOCH\})", pattern)) {
    return Epoch(key, pattern);
  }
  if (name == "TAI64N") {
    return Bound("@[0-9a-f]{24}", name == key ? Begin::kAnywhere : Begin::kLine, true);
  }
  return OfFields(pattern);
}

/// Adds `pattern` once for each default pattern, which replaces {DATE}.
void AddWithDate(std::string_view pattern, size_t at, std::vector<DateTemplate>* to) {
  for (const char* one : kDefaults) {
    std::string_view inner = one;
    // fail2ban inserts the name of a default that is not a pattern ("Epoch" or "TAI64N"). Log lines
    // do not contain these names.
    if (inner == "EPOCH") inner = "Epoch";
    if (!ConsumePrefix(kUnbound, &inner)) ConsumePrefix(kLineBegin, &inner);
    std::string whole(pattern);
    to->push_back(OfPattern(whole.replace(at, std::string_view("{DATE}").size(), inner)));
  }
}

void AddDefaults(bool line_begin_only, std::vector<DateTemplate>* to) {
  std::vector<DateTemplate> anywhere;
  for (const char* one : kDefaults) {
    anywhere.push_back(OfPattern(one));
    if (one[0] != '^' && one[0] != '{') {
      to->push_back(OfPattern(absl::StrCat(std::string(kLineBegin), one)));
    }
  }
  for (DateTemplate& one : anywhere) {
    if (!line_begin_only || one.line_begin) to->push_back(std::move(one));
  }
}

}  // namespace

std::vector<DateTemplate> DateTemplatesOf(std::string_view option) {
  std::vector<DateTemplate> templates;
  for (absl::string_view line : absl::StrSplit(View(option), '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    const std::string_view pattern(line.data(), line.size());
    const std::string key = KeyOf(pattern);
    const std::string_view date = Found(R"((?i)(?<!\\)\{DATE\})", pattern);
    if (key == kLineBegin || key == "{DEFAULT}") {
      AddDefaults(key == kLineBegin, &templates);
    } else if (date.data() != nullptr) {
      AddWithDate(pattern, static_cast<size_t>(date.data() - pattern.data()), &templates);
    } else {
      templates.push_back(OfPattern(key == "{NONE}" ? "{UNB}^" : pattern));
    }
  }
  if (templates.empty()) AddDefaults(false, &templates);
  return templates;
}

}  // namespace sluice::engine::logmon
