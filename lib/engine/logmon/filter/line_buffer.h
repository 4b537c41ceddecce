// SPDX-License-Identifier: BSD-3-Clause
//
// Keeps the last lines of up to kMaxSpeakers speakers for expressions that span several lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

/// Buffered lines by speaker, each terminated by LF. Used by one thread.
class LineBuffers {
 public:
  static constexpr size_t kMaxSpeakers = 64;
  static constexpr size_t kMaxLineBytes = 4096;

  /// Keeps `max_lines` lines per speaker, at least 1.
  explicit LineBuffers(size_t max_lines);

  /// Adds a line of a speaker, truncated to kMaxLineBytes. An LF at the end of `line` is its
  /// terminator. Empty lines count. Returns the last lines of the speaker, up to `max_lines`, valid
  /// until the next call.
  std::string_view Add(uint64_t speaker, std::string_view line);
  /// Removes the lines that overlap [begin, end) from the text that Add returned last, and puts
  /// `kept`, a part of the removed text, in their place. A range that starts with the end of a line
  /// does not overlap that line.
  void Forget(size_t begin, size_t end, std::string_view kept);

 private:
  struct Lines {
    uint64_t speaker = 0;
    std::string text;
  };
  const size_t max_lines_;
  std::vector<Lines> buffers_;
  Lines* last_ = nullptr;
  size_t next_ = 0;  ///< Index for the next new speaker.
};

}  // namespace sluice::engine::logmon
