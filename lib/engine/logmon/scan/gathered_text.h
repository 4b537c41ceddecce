// SPDX-License-Identifier: BSD-3-Clause
//
// Collects complete lines of many sources, so that Hyperscan scans all of them in one call: a call
// costs as much as scanning a few hundred bytes of text. An LF precedes each part, so the last line
// of the previous part ends there in any case.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/filter.h"

namespace sluice::engine::logmon {

/// Writer of the lines of a part.
struct Origin {
  uint32_t number = 0;  ///< Chosen by the caller; returned with each matching line.
  Speaker speaker;      ///< For filters that combine lines.
};

/// One or more lines of one origin: bytes `begin` to `end` - 1 of a text. The last line ends at
/// `end`, whether or not it has a line end.
struct TextPart {
  uint32_t begin = 0, end = 0;
  bool truncated = false;  ///< The part is the start of a line that exceeded the limit.
  /// Length, including LF, of the header line before the part's only other line; 0: no header.
  uint32_t header = 0;
  Origin origin;
};

/// The collected text. Used by one thread. Allocates only at construction.
class GatheredText {
 public:
  /// Maximum total length if the text has more than one part. A text of this length is still in the
  /// L1 cache when Hyperscan reads it.
  static constexpr uint32_t kBytes = 16384;
  /// Bytes after the room returned by Place that may be read and written.
  static constexpr uint32_t kSpareBytes = 128;

  /// A single part may be longer than kBytes, but not longer than `longest`.
  explicit GatheredText(uint32_t longest);

  bool empty() const { return parts_.empty(); }
  /// Returns whether a part of `bytes`, at most `longest`, may be added. An empty text has room for
  /// any part.
  bool HasRoom(uint64_t bytes) const {
    return empty() || (end_ + kGapBytes + bytes <= kBytes && parts_.size() < kMaxParts);
  }
  /// Returns the address for the next part. The part's first `ahead` bytes must be written before
  /// this address, its other `bytes` bytes from this address on. There must be room for both. The
  /// part is dropped unless Add is called next.
  char* Place(uint32_t ahead, uint32_t bytes);
  /// Adds the part written at Place: all bytes from `ahead` before that address to `end`.
  void Add(const char* end, bool truncated, const Origin& origin, uint32_t header = 0) {
    end_ = static_cast<uint32_t>(end - text_);
    parts_.push_back({begin_, end_, truncated, header, origin});
  }
  void Clear() {
    end_ = 0;
    parts_.clear();
  }

  /// Returns all parts with the gaps between them.
  std::string_view text() const { return {text_, end_}; }
  /// Returns the parts, sorted by position.
  std::span<const TextPart> parts() const { return parts_; }

 private:
  static constexpr uint32_t kMaxParts = 512;
  static constexpr uint32_t kVectorBytes = 32;
  /// Maximum gap before a part.
  static constexpr uint32_t kGapBytes = 1 + kVectorBytes;

  std::unique_ptr<char[]> memory_;
  char* text_;          ///< Within memory_, at a multiple of kVectorBytes.
  uint32_t begin_ = 0;  ///< Start of the part being written.
  uint32_t end_ = 0;
  std::vector<TextPart> parts_;
};

}  // namespace sluice::engine::logmon
