// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/fail2ban_tags.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <set>
#include <utility>

namespace sluice::engine::logmon {
namespace {

// These expressions follow fail2ban 1.1 (server/failregex.py and server/ipdns.py). Release 1.0
// matches neither "::" alone nor an address that starts with a single colon.
constexpr char kIp4[] = R"((?:::f{4,6}:)?(?P<ip4>(?:\d{1,3}\.){3}\d{1,3}))";
// fail2ban uses a look-behind for the last colon, which is not necessary because each repetition
// ends with a colon.
constexpr char kIp6[] = R"((?P<ip6>(?:[0-9a-fA-F]{1,4}::?|:){1,7}(?:[0-9a-fA-F]{1,4}|:)))";
constexpr char kDns[] = R"((?P<dns>[\w\-.^_]*\w))";
constexpr char kCidr[] = R"((?P<cidr>\d+))";

std::string Bracketed(std::string_view expression) {
  return absl::StrCat(R"(\[?)", std::string(expression), R"(\]?)");
}

/// Returns the expression for a tag without its angle brackets; empty for other tags.
std::string Replacement(std::string_view tag) {
  const std::string either = absl::StrCat("(?:", kIp4, "|", kIp6, ")");
  if (tag == "HOST") return absl::StrCat("(?:", Bracketed(either), "|", kDns, ")");
  if (tag.starts_with("F-") && tag.ends_with("/")) tag = tag.substr(2, tag.size() - 3);
  if (tag == "ADDR") return Bracketed(either);
  if (tag == "SUBNET") return Bracketed(absl::StrCat(either, "(?:/", kCidr, ")?"));
  if (tag == "IP4") return kIp4;
  if (tag == "IP6") return kIp6;
  if (tag == "DNS") return kDns;
  if (tag == "CIDR") return kCidr;
  if (tag == "ID") return R"((?P<fid>\S+))";
  if (tag == "PORT") return R"((?P<fport>\w+))";
  return "";
}

bool IsName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
}

std::string GroupName(std::string_view tag) {
  const std::string name = absl::StrReplaceAll(
      absl::AsciiStrToLower(absl::string_view(tag.data(), tag.size())), {{"-", "_"}});
  return name == "id" ? "fid" : name == "port" ? "fport" : name;
}

class Replacer {
 public:
  Replacer(std::string_view expression, bool multi_line, std::string* error)
      : rest_(expression), multi_line_(multi_line), error_(error) {}

  std::optional<std::string> Run() {
    while (!rest_.empty()) {
      const size_t end = rest_[0] == '<' && !out_.ends_with("(?P") ? rest_.find('>') : rest_.npos;
      if (end == rest_.npos) {
        Copy();
      } else if (!Tag(rest_.substr(1, end - 1))) {
        return std::nullopt;
      }
    }
    if (!open_.empty()) return Fail("<F-…> without </F-…>"), std::nullopt;
    return std::move(out_);
  }

 private:
  bool Fail(const char* why) {
    *error_ = why;
    return false;
  }
  void Copy() {
    out_ += rest_[0];
    rest_.remove_prefix(1);
  }

  bool Tag(std::string_view tag) {
    std::string replacement = Replacement(tag);
    if (tag == "SKIPLINES") {
      if (!multi_line_) return Fail("<SKIPLINES> requires maxlines above 1");
      replacement = absl::StrCat(R"(\n(?P<skiplines)", skips_++, R"(>(?:(?:.*\n)*?)))");
    } else if (tag.starts_with("F-") && IsName(tag.substr(2))) {
      replacement = absl::StrCat("(?P<", GroupName(tag.substr(2)), ">");
      open_.push_back(tag);
    } else if (tag.starts_with("/F-") && IsName(tag.substr(3))) {
      // fail2ban closes the group regardless of which one was opened last.
      const auto opened = std::find(open_.begin(), open_.end(), tag.substr(1));
      if (opened == open_.end()) return Fail("</F-…> without <F-…>");
      open_.erase(opened);
      replacement.assign(1, ')');
    } else if (replacement.empty()) {
      Copy();
      return true;
    }
    out_ += WithoutKnownNames(replacement);
    rest_.remove_prefix(tag.size() + 2);
    return true;
  }

  /// Removes group names that are already in use: an expression may contain each name only once.
  std::string WithoutKnownNames(std::string text) {
    constexpr std::string_view kOpen = "(?P<";
    for (size_t at = text.find(kOpen); at != text.npos; at = text.find(kOpen, at + 1)) {
      const size_t end = text.find('>', at);
      const std::string name = text.substr(at + kOpen.size(), end - at - kOpen.size());
      if (names_.insert(name).second) continue;
      text = absl::StrCat(text.substr(0, at), "(?:", text.substr(end + 1));
    }
    return text;
  }

  std::string_view rest_;
  const bool multi_line_;
  std::string* const error_;
  std::string out_;
  std::vector<std::string_view> open_;
  std::set<std::string> names_;
  int skips_ = 0;
};

constexpr std::pair<std::string_view, std::string_view TaggedLine::*> kGroups[] = {
    {"content", &TaggedLine::content},  {"mlfid", &TaggedLine::session},
    {"nofail", &TaggedLine::no_fail},   {"mlfgained", &TaggedLine::gained},
    {"mlfforget", &TaggedLine::forget}, {"user", &TaggedLine::user},
    {"ip4", &TaggedLine::ip4},          {"ip6", &TaggedLine::ip6},
    {"dns", &TaggedLine::dns},          {"fid", &TaggedLine::id},
};

/// Returns whether group `name` is an alternative to group `group`, e.g. "alt_user" and
/// "alt_user_2" are alternatives to "user".
bool StandsInFor(std::string_view group, std::string_view name) {
  if (!name.starts_with("alt_")) return false;
  name.remove_prefix(4);
  if (!name.starts_with(group)) return false;
  name.remove_prefix(group.size());
  return name.empty() || (name.size() > 1 && name[0] == '_' &&
                          name.find_first_not_of("0123456789", 1) == name.npos);
}

}  // namespace

std::optional<std::string> ReplaceTags(std::string_view expression, bool multi_line,
                                       std::string* error) {
  return Replacer(expression, multi_line, error).Run();
}

std::string_view TaggedLine::host() const {
  for (const std::string_view one : {ip4, ip6, dns, id}) {
    if (one.data() != nullptr) return one;
  }
  return {};
}

TagGroups::TagGroups(const LineRegex& regex) {
  const std::vector<std::string> names = regex.names();
  for (const auto& [name, value] : kGroups) {
    Group group{value, regex.GroupOf(name), {}};
    for (const std::string& other : names) {
      if (StandsInFor(name, other)) group.stand_ins.push_back(regex.GroupOf(other));
    }
    if (group.number >= 0 || !group.stand_ins.empty()) groups_.push_back(std::move(group));
  }
}

bool TagGroups::Has(std::string_view TaggedLine::*value) const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [value](const Group& group) { return group.value == value; });
}

bool TagGroups::names_host() const {
  return Has(&TaggedLine::ip4) || Has(&TaggedLine::ip6) || Has(&TaggedLine::dns) ||
         Has(&TaggedLine::id);
}

bool TagGroups::names_session() const { return Has(&TaggedLine::session); }

void TagGroups::Add(const RegexMemory& memory, TaggedLine* line) const {
  for (const Group& group : groups_) {
    std::string_view text = memory.group(group.number);
    for (const int number : group.stand_ins) {
      if (text.empty() && !memory.group(number).empty()) text = memory.group(number);
    }
    if (group.number >= 0 || !text.empty()) line->*group.value = text;
  }
}

}  // namespace sluice::engine::logmon
