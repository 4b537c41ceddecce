// SPDX-License-Identifier: BSD-3-Clause
//
// Lines to show and their senders, on their way from a worker to the collector. Memory is bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/scan/rule_set.h"
#include "engine/logmon/source/source.h"

namespace sluice::logmon {

struct ShownLine {
  engine::logmon::Source source;
  engine::logmon::FilterSet filters;
  uint64_t time_ns = 0;  ///< Arrival of the line's last frame, in ns since 1970.
  bool is_syslog = false;
  bool truncated = false;
  engine::logmon::SyslogHeader header;  ///< Set if is_syslog; valid as long as `text` is.
  std::string_view text;  ///< Arbitrary bytes; valid during the call that passes this line.
};

/// Allocates only in the constructor.
class ShownLines {
 public:
  ShownLines() {
    lines_.reserve(kMaxLines);
    texts_.reserve(kMaxBytes);
  }

  /// Copies the texts. Returns false if the limit on lines or on bytes would be exceeded.
  bool Add(const ShownLine& line) {
    const std::string_view parts[] = {line.header.hostname, line.header.app, line.text};
    const size_t bytes = parts[0].size() + parts[1].size() + parts[2].size();
    if (lines_.size() == kMaxLines || bytes > kMaxBytes - texts_.size()) return false;
    for (const std::string_view part : parts) texts_ += part;
    lines_.push_back(line);
    return true;
  }

  /// Calls `each(const ShownLine&)` for all lines in order, and clears them.
  template <typename Each>
  void Drain(Each each) {
    std::string_view rest = texts_;
    for (ShownLine& line : lines_) {
      for (std::string_view* part : {&line.header.hostname, &line.header.app, &line.text}) {
        *part = rest.substr(0, part->size());
        rest.remove_prefix(part->size());
      }
      each(line);
    }
    lines_.clear();
    texts_.clear();
  }

 private:
  static constexpr size_t kMaxLines = 16'384, kMaxBytes = 4 << 20;

  std::vector<ShownLine> lines_;
  std::string texts_;  ///< The texts of all lines, concatenated.
};

}  // namespace sluice::logmon
