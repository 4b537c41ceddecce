// SPDX-License-Identifier: BSD-3-Clause
//
// A slow reference for the scanner: splits the text into lines byte by byte and evaluates every
// filter on every line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/filter.h"
#include "engine/logmon/scan/line_scanner.h"

namespace sluice::test {

/// Lines end with LF, CR LF or CR; the last one may have no end. Python's bytes.splitlines does the
/// same.
inline std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  std::string line;
  bool begun = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' || text[i] == '\r') {
      if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
      lines.push_back(line);
      line.clear();
      begun = false;
    } else {
      line += text[i];
      begun = true;
    }
  }
  if (begun) lines.push_back(line);
  return lines;
}

/// A matching line.
struct Match {
  std::string line;
  std::string filters;  ///< Numbers of the matching filters.
  bool truncated = false;

  bool operator==(const Match&) const = default;
};

inline std::string Numbers(const engine::logmon::FilterSet& filters) {
  std::string numbers;
  for (size_t i = 0; i < filters.size(); ++i) {
    if (filters[i]) numbers += std::to_string(i) + " ";
  }
  return numbers;
}

/// Returns the matches of `text` in order.
inline std::vector<Match> AskAll(const std::vector<engine::logmon::Filter>& filters,
                                 std::string_view text, size_t line_bytes) {
  engine::logmon::Scratch scratch;
  std::vector<Match> matches;
  for (const std::string& line : SplitLines(text)) {
    const std::string head = line.substr(0, line_bytes);
    engine::logmon::FilterSet matching;
    for (size_t i = 0; i < filters.size(); ++i) matching[i] = filters[i].Matches(head, scratch);
    if (matching.any()) matches.push_back({head, Numbers(matching), line.size() > line_bytes});
  }
  return matches;
}

/// A sink that records matches.
class LineRecorder {
 public:
  explicit LineRecorder(std::vector<Match>* matches) : matches_(*matches) {}
  void operator()(const engine::logmon::MatchedLine& line) const {
    matches_.push_back({std::string(line.text), Numbers(line.filters), line.truncated});
  }

 private:
  std::vector<Match>& matches_;
};

}  // namespace sluice::test
