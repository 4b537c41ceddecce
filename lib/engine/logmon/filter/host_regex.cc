// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/host_regex.h"

#include <utility>

namespace sluice::engine::logmon {

HostRegex::HostRegex(LineRegex regex) : regex_(std::move(regex)), tags_(regex_) {
  if (regex_.tree()) {
    needle_ = NeedleOf(*regex_.tree(), {.characters = false, .whole_line = true});
  }
}

std::optional<HostRegex> HostRegex::Compile(std::string_view expression, std::string* error) {
  const auto python = ReplaceTags(expression, false, error);
  auto regex = python ? LineRegex::Compile(*python, false, error) : std::nullopt;
  if (!regex) return std::nullopt;
  return HostRegex(*std::move(regex));
}

bool HostRegex::Matches(std::string_view line, RegexMemory& memory) const {
  return regex_.Matches(line, memory);
}

std::string_view HostRegex::HostOf(std::string_view line, RegexMemory& memory) const {
  if (!names_host() || !regex_.Search(line, memory)) return {};
  TaggedLine tagged;
  tags_.Add(memory, &tagged);
  return tagged.host();
}

Needles HostRegex::GetNeedles() const {
  Needles needles;
  if (!needle_) return needles;
  needles.all.push_back(needle_->needle);
  needles.decide = needle_->is_exact;
  return needles;
}

}  // namespace sluice::engine::logmon
