// SPDX-License-Identifier: BSD-3-Clause
#include "test_filter.h"

#include <utility>
#include <vector>

#include "engine/logmon/filter/filter.h"
#include "engine/logmon/filter/line_value.h"

namespace sluice::logmon {

using engine::logmon::Filter;
using engine::logmon::LineValue;
using nlohmann::ordered_json;

std::optional<ordered_json> TestFilter(const std::string& pattern, std::istream& lines,
                                       std::string* error) {
  const auto filter = Filter::CloudWatch(pattern, error);
  if (!filter) return std::nullopt;
  std::vector<std::pair<std::string, LineValue>> values;
  for (const std::string& name : filter->fields()) {
    if (name.empty()) continue;
    if (auto value = LineValue::Compile("$" + name, *filter, error)) {
      values.emplace_back("$" + name, *std::move(value));
    }
  }
  engine::logmon::Scratch scratch;
  engine::logmon::ScalarRoom room;
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
    for (const auto& [name, value] : values) {
      if (const auto text = value.TextOf(line, scratch, room))
        match["extractedValues"][name] = *text;
    }
    answer["matches"].push_back(std::move(match));
  }
  return answer;
}

}  // namespace sluice::logmon
