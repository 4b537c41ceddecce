// SPDX-License-Identifier: BSD-3-Clause
//
// Lines of a datagram, and words of a line. Only spaces separate words, and a line feed ends a
// line, with or without a carriage return. A NUL ends the text of a request, as in memcached; all
// other bytes may be in keys.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace sluice::engine::kv::memcached {

struct Line {
  std::string_view text;  ///< Without its end.
  size_t bytes = 0;       ///< With it.
};

/// The first line; nothing if it has no end.
inline std::optional<Line> FirstLine(std::string_view text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const bool carriage_return = end > 0 && text[end - 1] == '\r';
  return Line{text.substr(0, end - (carriage_return ? 1 : 0)), end + 1};
}

/// The part of a line that a request is read from. memcached reads it as a C string.
inline std::string_view RequestText(const Line& line) {
  return line.text.substr(0, line.text.find('\0'));
}

class Words {
 public:
  /// Begins at offset `at` of the line.
  explicit Words(std::string_view line, size_t at = 0) : line_(line), end_(at) {}

  /// Empty: there is none left.
  std::string_view Next() {
    begin_ = line_.find_first_not_of(' ', end_);
    if (begin_ == std::string_view::npos) begin_ = line_.size();
    end_ = line_.find(' ', begin_);
    if (end_ == std::string_view::npos) end_ = line_.size();
    return line_.substr(begin_, end_ - begin_);
  }
  /// Of the word that Next returned, in the line.
  size_t begin() const { return begin_; }

 private:
  std::string_view line_;
  size_t begin_ = 0;
  size_t end_;
};

/// The words of a line, as far as there is room for them.
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
  /// All, and at least `least`, at most `most`.
  bool Within(size_t least, size_t most) const { return !more && count >= least && count <= most; }
  /// Of at least one.
  std::string_view last() const { return at[count - 1]; }

  std::array<std::string_view, kMax> at;
  size_t count = 0;
  bool more = false;  ///< There are others.
};

}  // namespace sluice::engine::kv::memcached
