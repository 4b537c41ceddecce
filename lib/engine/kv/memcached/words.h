// SPDX-License-Identifier: BSD-3-Clause
//
// Splits a datagram into lines, and a line into words. Words are separated only by spaces. A line
// ends with a line feed, optionally preceded by a carriage return. A NUL ends the text of a
// request, as in memcached; all other bytes are allowed in keys.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace sluice::engine::kv::memcached {

struct Line {
  std::string_view text;  ///< Without the line end.
  size_t bytes = 0;       ///< Including the line end.
};

/// Returns the first line, or nullopt if the text has no line end.
inline std::optional<Line> FirstLine(std::string_view text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const bool carriage_return = end > 0 && text[end - 1] == '\r';
  return Line{text.substr(0, end - (carriage_return ? 1 : 0)), end + 1};
}

/// Returns the part of a line up to the first NUL, because memcached parses the line as a C string.
inline std::string_view RequestText(const Line& line) {
  return line.text.substr(0, line.text.find('\0'));
}

class Words {
 public:
  /// Starts at offset `at` of the line.
  explicit Words(std::string_view line, size_t at = 0) : line_(line), end_(at) {}

  /// Returns the next word; empty at the end of the line.
  std::string_view Next() {
    begin_ = line_.find_first_not_of(' ', end_);
    if (begin_ == std::string_view::npos) begin_ = line_.size();
    end_ = line_.find(' ', begin_);
    if (end_ == std::string_view::npos) end_ = line_.size();
    return line_.substr(begin_, end_ - begin_);
  }
  /// Returns the offset in the line of the word that Next returned.
  size_t begin() const { return begin_; }

 private:
  std::string_view line_;
  size_t begin_ = 0;
  size_t end_;
};

/// The first kMax words of a line.
template <size_t kMax>
struct WordList {
  explicit WordList(Words words) {
    for (;;) {
      const std::string_view word = words.Next();
      if (word.empty()) return;
      if (count == kMax) {
        more = true;
        return;
      }
      at[count++] = word;
    }
  }
  /// Returns whether the line has `least` to `most` words, all of which are in the list.
  bool Within(size_t least, size_t most) const { return !more && count >= least && count <= most; }
  /// Returns the last word. The list must not be empty.
  std::string_view last() const { return at[count - 1]; }

  std::array<std::string_view, kMax> at;
  size_t count = 0;
  bool more = false;  ///< The line has more than kMax words.
};

}  // namespace sluice::engine::kv::memcached
