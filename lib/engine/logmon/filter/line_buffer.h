// SPDX-License-Identifier: BSD-3-Clause
//
// The last lines of some speakers, for expressions that span several.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

/// One thread's. Lines of a speaker, each ended by LF.
class LineBuffers {
 public:
  static constexpr size_t kMaxSpeakers = 64;
  static constexpr size_t kMaxLineBytes = 4096;

  /// Of `max_lines` each, at least 1.
  explicit LineBuffers(size_t max_lines);

  /// Adds a line of the speaker, at most kMaxLineBytes of it; an LF at its end is its end. An empty
  /// line is one of them. The last lines of the speaker, up to `max_lines`; valid until the next
  /// call.
  std::string_view Add(uint64_t speaker, std::string_view line);
  /// Of the text that Add returned last, forgets the lines that [begin, end) is in, but for those
  /// that `kept`, a part of it, is. If it begins with the end of a line, it is not in that line.
  void Forget(size_t begin, size_t end, std::string_view kept);

 private:
  struct Lines {
    uint64_t speaker = 0;
    std::string text;
  };
  const size_t max_lines_;
  std::vector<Lines> buffers_;
  Lines* last_ = nullptr;
  size_t next_ = 0;  ///< The place that the next new speaker takes.
};

}  // namespace sluice::engine::logmon
