// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/fail2ban_config.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <re2/re2.h>

#include <fstream>
#include <vector>

namespace sluice::engine::logmon {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr int kMaxDepth = 16;
constexpr int kMaxFiles = 32;
constexpr int kMaxReplacements = 10'000;

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

std::string Stripped(std::string_view text) {
  return std::string(absl::StripAsciiWhitespace(ToAbsl(text)));
}

/// Returns `line` without a comment, which starts at a semicolon after white space.
std::string_view WithoutComment(std::string_view line) {
  for (size_t i = 1; i < line.size(); ++i) {
    if (line[i] == ';' && (line[i - 1] == ' ' || line[i - 1] == '\t')) return line.substr(0, i);
  }
  return line;
}

}  // namespace

std::optional<std::string> ReadTextFile(const std::filesystem::path& file, std::string* error) {
  std::error_code unused;
  if (!std::filesystem::is_regular_file(file, unused)) {  // Reading a pipe might never end.
    *error = absl::StrCat(file.string(), ": not a regular file");
    return std::nullopt;
  }
  std::ifstream in(file, std::ios::binary);
  std::string text(kMaxBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (in.bad() || (!in.eof() && in.fail()) || text.size() > kMaxBytes) {
    *error = absl::StrCat(file.string(),
                          text.size() > kMaxBytes ? ": longer than 1 MiB" : ": cannot be read");
    return std::nullopt;
  }
  return text;
}

std::optional<FileWithOptions> SplitOptions(const std::filesystem::path& name, std::string* error) {
  static const RE2 one_option(
      R"re(\s*([\w\-.]+)=(?:"([^"]*)"|'([^']*)'|([^,\]"']*))\s*(?:,\s*|$))re");
  const std::string whole = name.string();
  const size_t open = whole.find('[');
  FileWithOptions split{name, {}};
  if (!whole.ends_with(']') || open == whole.npos) return split;
  split.file = whole.substr(0, open);
  const std::string options = whole.substr(open + 1, whole.size() - open - 2);
  re2::StringPiece rest(options);
  std::string option, values[3];
  while (RE2::Consume(&rest, one_option, &option, &values[0], &values[1], &values[2])) {
    split.options[absl::AsciiStrToLower(option)] = Stripped(values[0] + values[1] + values[2]);
  }
  if (!rest.empty()) {
    *error = whole + ": give options as in [mode=aggressive]";
    return std::nullopt;
  }
  return split;
}

std::optional<Fail2banConfig> Fail2banConfig::Parse(const FileWithOptions& file,
                                                    std::string_view text, std::string* error) {
  Fail2banConfig config;
  if (!config.Add(file.file, text, 0, error)) return std::nullopt;
  for (const auto& [name, value] : file.options) config.sections_["Init"][name] = value;
  return config;
}

bool Fail2banConfig::Add(const std::filesystem::path& file, std::string_view text, int depth,
                         std::string* error) {
  if (depth > kMaxDepth || ++files_ > kMaxFiles) {
    *error = absl::StrCat(file.string(), ": includes too many files");
    return false;
  }
  std::map<std::string, Section, std::less<>> own;
  AddOptions(text, &own);
  const Section& includes = own["INCLUDES"];
  const auto folder = file.parent_path();
  if (const auto before = includes.find("before"); before != includes.end()) {
    if (!Include(folder, before->second, true, depth, error)) return false;
  }
  for (const auto& [name, options] : own) {
    for (const auto& [option, value] : options) {
      if (const std::string* known = Find(name, option)) sections_["known"][option] = *known;
      sections_[name][option] = value;
    }
  }
  if (const auto after = includes.find("after"); after != includes.end()) {
    if (!Include(folder, after->second, false, depth, error)) return false;
  }
  std::filesystem::path local = file.filename();
  local.replace_extension(".local");
  return local == file.filename() || Include(folder, local.string(), false, depth, error);
}

bool Fail2banConfig::Include(const std::filesystem::path& folder, const std::string& names,
                             bool must_exist, int depth, std::string* error) {
  for (const absl::string_view name :
       absl::StrSplit(names, absl::ByAnyChar(" \t\n"), absl::SkipEmpty())) {
    const std::filesystem::path file = folder / std::string(name);
    std::error_code code;
    if (!must_exist && !std::filesystem::exists(file, code)) continue;
    const auto text = ReadTextFile(file, error);
    if (!text || !Add(file, *text, depth + 1, error)) return false;
  }
  return true;
}

void Fail2banConfig::AddOptions(std::string_view text,
                                std::map<std::string, Section, std::less<>>* to) const {
  std::string section = "DEFAULT";
  std::string* value = nullptr;
  for (const absl::string_view whole : absl::StrSplit(ToAbsl(text), '\n')) {
    const std::string_view line = WithoutComment({whole.data(), whole.size()});
    const std::string stripped = Stripped(line);
    if (stripped.empty() || stripped[0] == '#' || stripped[0] == ';') continue;
    if (value != nullptr && absl::ascii_isspace(static_cast<unsigned char>(line[0]))) {
      absl::StrAppend(value, "\n", stripped);
      continue;
    }
    value = nullptr;
    if (stripped.front() == '[' && stripped.back() == ']') {
      section = stripped.substr(1, stripped.size() - 2);
      continue;
    }
    const size_t equals = stripped.find_first_of("=:");
    if (equals == stripped.npos) continue;
    const std::string name = absl::AsciiStrToLower(Stripped(stripped.substr(0, equals)));
    value = &(*to)[section][name];
    *value = Stripped(stripped.substr(equals + 1));
  }
}

const std::string* Fail2banConfig::Find(std::string_view section, std::string_view name) const {
  // For [Definition], options of [Init] take precedence.
  const bool is_definition = section == "Definition";
  for (const std::string_view place :
       {is_definition ? std::string_view("Init") : section, section, std::string_view("DEFAULT")}) {
    const auto options = sections_.find(place);
    if (options == sections_.end()) continue;
    const auto option = options->second.find(name);
    if (option != options->second.end()) return &option->second;
  }
  return nullptr;
}

bool Fail2banConfig::Interpolate(std::string_view value, std::string_view section, int depth,
                                 std::string* out, std::string* error) const {
  if (depth > kMaxDepth) {
    *error = "options form a cycle";
    return false;
  }
  for (size_t at = 0; at < value.size(); ++at) {
    if (out->size() > kMaxBytes) {
      *error = "an option is too long";
      return false;
    }
    const std::string_view rest = value.substr(at);
    const size_t end = rest.starts_with("%(") ? rest.find(")s") : rest.npos;
    if (rest.starts_with("%%")) {
      *out += '%';
      ++at;
    } else if (end == rest.npos) {
      *out += rest[0];
    } else {
      std::string_view name = rest.substr(2, end - 2), place = section;
      if (const size_t slash = name.find('/'); slash != name.npos) {
        place = name.substr(0, slash);
        name.remove_prefix(slash + 1);
      }
      const std::string* found = Find(place, absl::AsciiStrToLower(ToAbsl(name)));
      if (found == nullptr) {
        *error = absl::StrCat("unknown option ", ToAbsl(name));
        return false;
      }
      if (!Interpolate(*found, place, depth + 1, out, error)) return false;
      at += end + 1;
    }
  }
  return true;
}

bool Fail2banConfig::ReplaceTags(std::string* value, std::string* error) const {
  int replaced = 0;
  for (size_t close = value->find('>'); close != value->npos; close = value->find('>', close + 1)) {
    const size_t open = value->rfind('<', close);
    if (open == value->npos || (open >= 3 && value->compare(open - 3, 3, "(?P") == 0)) continue;
    std::string_view name = std::string_view(*value).substr(open + 1, close - open - 1);
    std::string_view section = "Definition";
    if (const size_t slash = name.find('/'); slash != name.npos) {
      section = name.substr(0, slash);
      name.remove_prefix(slash + 1);
    }
    const std::string* found = name.empty() ? nullptr : Find(section, name);
    if (found == nullptr) continue;
    std::string replacement;
    if (!Interpolate(*found, section, 0, &replacement, error)) return false;
    if (++replaced > kMaxReplacements || value->size() + replacement.size() > kMaxBytes) {
      *error = "tags form a cycle";
      return false;
    }
    value->replace(open, close - open + 1, replacement);
    // Restart at the beginning: the replacement may complete the name of another tag.
    close = static_cast<size_t>(-1);
  }
  return true;
}

std::optional<std::string> Fail2banConfig::Get(std::string_view name, std::string* error) const {
  const std::string* found = Find("Definition", name);
  std::string value;
  if (found == nullptr) return value;
  if (!Interpolate(*found, "Definition", 0, &value, error)) return std::nullopt;
  if (!ReplaceTags(&value, error)) return std::nullopt;
  return value;
}

}  // namespace sluice::engine::logmon
