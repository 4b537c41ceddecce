// SPDX-License-Identifier: BSD-3-Clause
//
// Splits device arguments, "key=value,key=value", at the commas and at the first '=' of each
// argument. rte_kvargs is not suitable: it splits at the last '=' of a pair, and a wire's value can
// contain '=' ("wire=gen:size=64+flows=1000").
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::drivers {

/// Stores the key-value pairs of `text` (may be null) in order. If a pair lacks a key or '=',
/// returns false and sets `error` to one line.
inline bool SplitArguments(const char* text,
                           std::vector<std::pair<std::string, std::string>>* arguments,
                           std::string* error) {
  arguments->clear();
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    const size_t equals = part.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      *error = std::string("'").append(part) +
               "' is not of the form key=value; separate arguments by commas";
      return false;
    }
    arguments->emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return true;
}

}  // namespace sluice::drivers
