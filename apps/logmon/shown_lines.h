// SPDX-License-Identifier: BSD-3-Clause
//
// Lines to be shown and who sent them, on their way from a worker, in a bounded memory.
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
  uint64_t time_ns = 0;  ///< Since 1970: when its last frame came.
  bool is_syslog = false;
  bool truncated = false;
  engine::logmon::SyslogHeader header;  ///< If it is syslog. Valid as long as `text`.
  std::string_view text;                ///< Any bytes. Valid until the caller returns.
};

/// Allocates at construction only.
class ShownLines {
 public:
  ShownLines() {
    lines_.reserve(kMaxLines);
    texts_.reserve(kMaxBytes);
  }

  /// Copies the texts. False: no room.
  bool Add(const ShownLine& line) {
    const std::string_view parts[] = {line.header.hostname, line.header.app, line.text};
    const size_t bytes = parts[0].size() + parts[1].size() + parts[2].size();
    if (lines_.size() == kMaxLines || bytes > kMaxBytes - texts_.size()) return false;
    for (const std::string_view part : parts) texts_ += part;
    lines_.push_back(line);
    return true;
  }

  /// Calls `each(const ShownLine&)` in order, and forgets all.
  template <typename Each>
  void TakeAll(Each each) {
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
  std::string texts_;  ///< All parts of all lines, one behind the other.
};

}  // namespace sluice::logmon
