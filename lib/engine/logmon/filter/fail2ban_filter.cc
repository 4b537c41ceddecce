// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/fail2ban_filter.h"

#include <absl/hash/hash.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <utility>

#include "engine/logmon/filter/fail2ban_config.h"
#include "engine/logmon/filter/regex_literals.h"

namespace sluice::engine::logmon {
namespace {

constexpr uint32_t kMaxMaxLines = 100;

std::vector<std::string> Rules(const std::string& texts) {
  return absl::StrSplit(texts, '\n', absl::SkipWhitespace());
}

/// Builds the line that rsyslog writes to a file for a message: control characters become `#` and
/// three octal digits (rsyslog, $EscapeControlCharactersOnReceive).
void SetFileLine(std::string_view header, std::string_view message, std::string* line) {
  line->clear();
  for (const std::string_view part : {header, message}) {
    for (const char c : part) {
      if ((c >= 0 && c < ' ') || c == '\x7f') {
        line->push_back('#');
        for (const int shift : {6, 3, 0})
          line->push_back(static_cast<char>('0' + (c >> shift & 7)));
      } else {
        line->push_back(c);
      }
    }
  }
}

}  // namespace

std::optional<Fail2banFilter::Rule> Fail2banFilter::CompileRule(const std::string& text,
                                                                bool multi_line,
                                                                std::string* error) {
  const auto python = ReplaceTags(text, multi_line, error);
  auto regex = python ? LineRegex::Compile(*python, multi_line, error) : std::nullopt;
  if (!regex) return std::nullopt;
  TagGroups tags(*regex);
  return Rule{*std::move(regex), std::move(tags)};
}

std::string Fail2banFilter::WhyNot(const Rule& rule) const {
  const bool names_somebody =
      rule.tags.names_host() || rule.tags.names_session() ||
      (prefix_ && (prefix_->tags.names_host() || prefix_->tags.names_session()));
  if (!names_somebody) return "the expression has no <HOST>";
  if (max_lines_ > 1 && prefix_)
    return "the filter matches several lines, which is not supported with a prefregex";
  return "";
}

bool Fail2banFilter::AddRules(const std::string& texts, std::vector<std::string>* skipped_rules,
                              std::string* error) {
  size_t number = 0;
  for (const std::string& text : Rules(texts)) {
    ++number;
    std::string why;
    auto rule = CompileRule(text, max_lines_ > 1, &why);
    if (rule) why = WhyNot(*rule);
    if (why.empty()) {
      rules_.push_back(*std::move(rule));
    } else {
      skipped_rules->push_back(absl::StrCat("rule ", number, ": ", why));
    }
  }
  if (!rules_.empty()) return true;
  *error =
      number == 0 ? "the filter has no failregex" : "no rule is usable: " + skipped_rules->front();
  return false;
}

std::optional<Fail2banFilter> Fail2banFilter::Read(const std::filesystem::path& file,
                                                   std::vector<std::string>* skipped_rules,
                                                   std::string* error) {
  Fail2banFilter filter;
  const auto read = [&](std::string* why) {
    const auto split = SplitOptions(file, why);
    const auto text = split ? ReadTextFile(split->file, why) : std::nullopt;
    const auto config = text ? Fail2banConfig::Parse(*split, *text, why) : std::nullopt;
    if (!config) return false;
    const auto prefix = config->Get("prefregex", why);
    const auto rules = prefix ? config->Get("failregex", why) : std::nullopt;
    const auto ignored = rules ? config->Get("ignoreregex", why) : std::nullopt;
    const auto dates = ignored ? config->Get("datepattern", why) : std::nullopt;
    const auto lines = dates ? config->Get("maxlines", why) : std::nullopt;
    if (!lines) return false;
    uint32_t max_lines = 1;
    if (!lines->empty() &&
        (!absl::SimpleAtoi(*lines, &max_lines) || max_lines < 1 || max_lines > kMaxMaxLines)) {
      *why = absl::StrCat("maxlines: give 1 to ", kMaxMaxLines);
      return false;
    }
    filter.max_lines_ = max_lines;
    const bool multi_line = max_lines > 1;
    if (!(filter.dates_ = DatePatterns::Compile(*dates, why))) return false;
    if (!prefix->empty() && !(filter.prefix_ = CompileRule(*prefix, multi_line, why))) {
      *why = "prefregex: " + *why;
      return false;
    }
    for (const std::string& one : Rules(*ignored)) {
      // An ignore rule is not optional: without it, the filter would count lines that it must
      // ignore.
      auto rule = CompileRule(one, multi_line, why);
      if (!rule) return *why = "ignoreregex: " + *why, false;
      filter.ignored_.push_back(std::move(rule->regex));
    }
    return filter.AddRules(*rules, skipped_rules, why);
  };
  std::string why;
  if (read(&why)) return filter;
  // Some reasons already contain the file's name.
  const std::string path = file.string().substr(0, file.string().find('['));
  *error = why.starts_with(path) ? why : absl::StrCat(file.string(), ": ", why);
  return std::nullopt;
}

bool Fail2banFilter::IsIgnored(std::string_view text, RegexMemory& regex) const {
  return std::any_of(ignored_.begin(), ignored_.end(),
                     [&](const LineRegex& one) { return one.Matches(text, regex); });
}

const Fail2banFilter::Rule* Fail2banFilter::FindRule(std::string_view text,
                                                     RegexMemory& regex) const {
  for (const Rule& rule : rules_) {
    if (rule.regex.Search(text, regex)) return &rule;
  }
  return nullptr;
}

/// Removes the lines that the rule matched, so that they are not searched again. Lines that the
/// rule skipped remain.
void Fail2banFilter::ForgetLines(std::string_view text, const Rule& rule, const RegexMemory& regex,
                                 Fail2banMemory& memory) {
  const std::string skipped(regex.group(rule.regex.GroupOf("skiplines0")));
  const auto begin = static_cast<size_t>(regex.groups[0].data() - text.data());
  memory.lines.Forget(begin, begin + regex.groups[0].size(), skipped);
}

bool Fail2banFilter::Matches(std::string_view line, const Speaker& speaker, RegexMemory& regex,
                             Fail2banMemory& memory) const {
  if (!speaker.header.empty()) {
    SetFileLine(speaker.header, line, &memory.line);
    line = memory.line;
  }
  const DatePatterns::Span stamp = dates_->Find(line, regex.pcre2, &regex.groups);
  memory.text.assign(line.substr(0, stamp.begin)).append(line.substr(stamp.end)).append("\n");
  std::string_view text = memory.text;
  if (max_lines_ > 1) text = memory.lines.Add(speaker.id, text);
  // Like fail2ban, checks the ignore expressions first if they are at least three fewer than the
  // rules.
  if (ignored_.size() + 2 < rules_.size() && IsIgnored(text, regex)) return false;
  TaggedLine tagged;
  if (prefix_) {
    if (!prefix_->regex.Search(text, regex)) return false;
    prefix_->tags.Add(regex, &tagged);
    if (!tagged.content.empty()) {
      memory.content.assign(tagged.content).append("\n");
      text = memory.content;
    }
  }
  const Rule* const rule = FindRule(text, regex);
  if (rule == nullptr) return false;
  rule->tags.Add(regex, &tagged);
  const bool is_ignored = IsIgnored(max_lines_ > 1 ? regex.groups[0] : text, regex);
  if (max_lines_ > 1) {
    memory.host = tagged.host();
    ForgetLines(text, *rule, regex, memory);
    return !is_ignored && tagged.no_fail.empty();
  }
  if (is_ignored) return false;
  if (tagged.session.data() == nullptr) {
    if (!tagged.no_fail.empty() || tagged.host().data() == nullptr) return false;
    memory.host = tagged.host();
    return true;
  }
  const uint64_t key = absl::HashOf(speaker.id, tagged.session) | 1;
  const std::string_view host =
      memory.sessions.Process(key, speaker.now, speaker.max_silence, tagged);
  if (host.data() == nullptr) return false;
  memory.host = host;
  return true;
}

Needles Fail2banFilter::GetNeedles() const {
  if (max_lines_ > 1) return {};  // Every line may be the first of several.
  const auto of = [](const LineRegex& regex) {
    return regex.tree() ? TornLiteralsOf(regex.tree()->root) : Clauses();
  };
  Clauses rules = of(rules_[0].regex);
  for (size_t i = 1; i < rules_.size(); ++i) rules = Either(rules, of(rules_[i].regex));
  if (prefix_) rules = Both(of(prefix_->regex), std::move(rules));
  // A needle may be in the header instead of the line, so the filter cannot require all needles of
  // a rule.
  return ToOneOf(rules);
}

}  // namespace sluice::engine::logmon
