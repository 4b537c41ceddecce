// SPDX-License-Identifier: BSD-3-Clause
//
// Whole lines of many sources, copied together so that Hyperscan looks at all of them in one call:
// each call costs as much as some hundred bytes of text. An LF lies before each part, so that the
// lines of the part before end whatever its last byte is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/filter.h"

namespace sluice::engine::logmon {

/// Who writes lines.
struct Origin {
  uint32_t number = 0;  ///< The caller's own; it comes back with each line that matches.
  Speaker speaker;      ///< For filters that put lines together.
};

/// Lines of one origin: bytes begin … end - 1 of a text, at least one. The last line ends there,
/// terminated or not.
struct TextPart {
  uint32_t begin = 0, end = 0;
  bool truncated = false;  ///< It is the beginning of one line.
  /// A line of so many bytes, its LF included, is the header of the part's only other line; 0:
  /// there is none.
  uint32_t header = 0;
  Origin origin;
};

/// One thread's. Allocates at construction only.
class GatheredText {
 public:
  /// Parts are gathered up to this. What Hyperscan reads is still in the first-level cache, where
  /// it was copied to.
  static constexpr uint32_t kBytes = 16384;
  /// What may be written, and read, behind the room that Place gives.
  static constexpr uint32_t kSpareBytes = 128;

  /// A single part may be longer than kBytes, but not than `longest`.
  explicit GatheredText(uint32_t longest);

  bool empty() const { return parts_.empty(); }
  /// Whether a part of `bytes`, at most `longest`, may be added. An empty text has room for any.
  bool HasRoom(uint64_t bytes) const {
    return empty() || (end_ + kGapBytes + bytes <= kBytes && parts_.size() < kMaxParts);
  }
  /// Where the next part goes: its first `ahead` bytes before the address that is returned, and
  /// `bytes` from there on. There is room for both. What no Add followed is forgotten.
  char* Place(uint32_t ahead, uint32_t bytes);
  /// Adds what was written to the place: everything from `ahead` before it to `end`.
  void Add(const char* end, bool truncated, const Origin& origin, uint32_t header = 0) {
    end_ = static_cast<uint32_t>(end - text_);
    parts_.push_back({begin_, end_, truncated, header, origin});
  }
  void Clear() {
    end_ = 0;
    parts_.clear();
  }

  /// All parts, and what lies between them.
  std::string_view text() const { return {text_, end_}; }
  /// In the order of their bytes.
  std::span<const TextPart> parts() const { return parts_; }

 private:
  static constexpr uint32_t kMaxParts = 512;
  static constexpr uint32_t kVectorBytes = 32;
  /// Most that lies before a part.
  static constexpr uint32_t kGapBytes = 1 + kVectorBytes;

  std::unique_ptr<char[]> memory_;
  char* text_;          ///< In it, at a multiple of kVectorBytes.
  uint32_t begin_ = 0;  ///< Of the part that is being written.
  uint32_t end_ = 0;
  std::vector<TextPart> parts_;
};

}  // namespace sluice::engine::logmon
