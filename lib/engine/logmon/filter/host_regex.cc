// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/host_regex.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <vector>

#include "engine/logmon/filter/regex_syntax.h"
#include "engine/logmon/filter/search.h"

namespace sluice::engine::logmon {
namespace {

// fail2ban, server/failregex.py. There, addresses are captured.
constexpr char kIp4[] = R"((?:\d{1,3}\.){3}\d{1,3})";
constexpr char kIp6[] = R"((?:[0-9a-fA-F]{1,4}::?|::){1,7}(?:[0-9a-fA-F]{1,4}|(?::|)))";
constexpr char kDns[] = R"([\w\-.^_]*\w)";

std::string Addr() {
  return std::string(R"(\[?(?:(?:::f{4,6}:)?)") + kIp4 + "|" + kIp6 + R"()\]?)";
}
std::string Cidr() { return "(?:" + Addr() + R"((?:/\d+)?))"; }

/// What a tag without its angle brackets matches; empty if it is none of them.
std::string Replacement(std::string_view tag) {
  if (tag.starts_with("F-") && tag.ends_with("/")) tag = tag.substr(2, tag.size() - 3);
  if (tag == "HOST") return "(?:" + Addr() + "|" + kDns + ")";
  if (tag == "ADDR") return "(?:" + Addr() + ")";
  if (tag == "IP4") return std::string("(?:") + kIp4 + ")";
  if (tag == "IP6") return std::string(R"((?:\[?)") + kIp6 + R"(\]?))";
  if (tag == "DNS") return std::string("(?:") + kDns + ")";
  if (tag == "CIDR" || tag == "SUBNET") return Cidr();
  if (tag == "ID") return R"(\S+)";
  if (tag == "PORT") return R"(\w+)";
  return "";
}

bool IsName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
}

}  // namespace

std::optional<std::string> ReplaceTags(std::string_view expression, std::string* error) {
  std::string out;
  std::vector<std::string_view> open;
  for (size_t at = 0; at < expression.size();) {
    const std::string_view rest = expression.substr(at);
    if (rest[0] == '\\' && rest.size() > 1) {
      out += rest[1] == 'Z' ? "\\z" : std::string(rest.substr(0, 2));
      at += 2;
      continue;
    }
    const size_t end = rest[0] == '<' && !out.ends_with("(?P") ? rest.find('>') : rest.npos;
    const std::string_view tag = end == rest.npos ? "" : rest.substr(1, end - 1);
    if (const std::string replacement = Replacement(tag); !replacement.empty()) {
      out += replacement;
    } else if (tag == "SKIPLINES") {
      *error = "<SKIPLINES> means several lines";
      return std::nullopt;
    } else if (tag.starts_with("F-") && IsName(tag.substr(2))) {
      out += "(?:";
      open.push_back(tag);
    } else if (tag.starts_with("/F-") && IsName(tag.substr(3))) {
      // fail2ban closes the group whichever was opened last.
      const auto opened = std::find(open.begin(), open.end(), tag.substr(1));
      if (opened == open.end()) {
        *error = "</F-…> without <F-…>";
        return std::nullopt;
      }
      open.erase(opened);
      out += ')';
    } else {
      out += rest[0];
      ++at;
      continue;
    }
    at += end + 1;
  }
  if (!open.empty()) {
    *error = "<F-…> without </F-…>";
    return std::nullopt;
  }
  return out;
}

std::optional<HostRegex> HostRegex::Compile(std::string_view expression, std::string* error) {
  const auto replaced = ReplaceTags(expression, error);
  if (!replaced) return std::nullopt;
  HostRegex regex;
  regex.regex_ = CompileRe2(*replaced, Reading::kBytes, error);
  if (regex.regex_ == nullptr) return std::nullopt;
  bool is_wider = false;
  if (const auto tree = ParseRegex(*replaced, &is_wider)) {
    regex.needle_ = NeedleOf(*tree, {.characters = false, .whole_line = true});
    if (regex.needle_) regex.needle_->is_exact &= !is_wider;
  }
  return regex;
}

bool HostRegex::Matches(std::string_view line) const {
  return regex_->Match(re2::StringPiece(line.data(), line.size()), 0, line.size(), RE2::UNANCHORED,
                       nullptr, 0);
}

Needles HostRegex::GetNeedles() const {
  Needles needles;
  if (!needle_) return needles;
  needles.all.push_back(needle_->needle);
  needles.decide = needle_->is_exact;
  return needles;
}

}  // namespace sluice::engine::logmon
