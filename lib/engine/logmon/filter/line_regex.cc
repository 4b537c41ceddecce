// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/line_regex.h"

#include "engine/logmon/filter/python_regex.h"
#include "engine/logmon/filter/search.h"

namespace sluice::engine::logmon {

std::optional<LineRegex> LineRegex::Compile(std::string_view python, bool multi_line,
                                            std::string* error) {
  const std::string expression = FromPython(python, multi_line);
  LineRegex regex;
  std::string unused;
  regex.re2_ = CompileRe2(expression, Reading::kBytes, &unused);
  if (regex.re2_ == nullptr) {
    regex.pcre2_ = Pcre2Regex::Compile(expression, error);
    if (regex.pcre2_ == nullptr) return std::nullopt;
  }
  regex.tree_ = ParseRegex(expression);
  return regex;
}

bool LineRegex::Matches(std::string_view text, RegexMemory& memory) const {
  return re2_ != nullptr ? re2_->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(),
                                       RE2::UNANCHORED, nullptr, 0)
                         : pcre2_->Matches(text, memory.pcre2);
}

bool LineRegex::Search(std::string_view text, RegexMemory& memory) const {
  if (re2_ == nullptr) return pcre2_->Search(text, memory.pcre2, &memory.groups);
  const auto count = static_cast<size_t>(re2_->NumberOfCapturingGroups()) + 1;
  memory.pieces.resize(count);
  if (!re2_->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), RE2::UNANCHORED,
                   memory.pieces.data(), static_cast<int>(count))) {
    return false;
  }
  memory.groups.resize(count);
  for (size_t i = 0; i < count; ++i) {
    memory.groups[i] = {memory.pieces[i].data(), memory.pieces[i].size()};
  }
  return true;
}

const std::map<std::string, int>& LineRegex::numbers() const {
  return re2_ != nullptr ? re2_->NamedCapturingGroups() : pcre2_->names();
}

int LineRegex::GroupOf(std::string_view name) const {
  const auto found = numbers().find(std::string(name));
  return found != numbers().end() ? found->second : -1;
}

std::vector<std::string> LineRegex::names() const {
  std::vector<std::string> names;
  for (const auto& [name, number] : numbers()) names.push_back(name);
  return names;
}

}  // namespace sluice::engine::logmon
