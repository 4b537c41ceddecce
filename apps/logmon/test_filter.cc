// SPDX-License-Identifier: BSD-3-Clause
#include "test_filter.h"

#include "engine/logmon/filter/filter.h"

namespace sluice::logmon {

using engine::logmon::Filter;
using nlohmann::ordered_json;

std::optional<ordered_json> TestFilter(const std::string& pattern, std::istream& lines,
                                       std::string* error) {
  const auto filter = Filter::CloudWatch(pattern, error);
  if (!filter) return std::nullopt;
  engine::logmon::Scratch scratch;
  ordered_json answer;
  answer["matches"] = ordered_json::array();
  std::string line;
  for (uint64_t number = 1; std::getline(lines, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (!filter->Matches(line, scratch)) continue;
    ordered_json match;
    match["eventNumber"] = number;
    match["eventMessage"] = line;
    match["extractedValues"] = ordered_json::object();
    for (const auto& [name, field] : filter->FieldsOf(line)) match["extractedValues"][name] = field;
    answer["matches"].push_back(std::move(match));
  }
  return answer;
}

}  // namespace sluice::logmon
