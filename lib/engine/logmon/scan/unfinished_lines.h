// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of lines that have not ended yet, in chained blocks of equal size. The memory is allocated
// once; blocks that were never needed are never touched.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace sluice::engine::logmon {

/// One worker's unfinished lines, identified by numbers. 0 is a line without bytes.
class UnfinishedLines {
 public:
  static constexpr uint32_t kSpareBytes = 124;

  /// Allocates `bytes` for the bytes of all lines and the overhead.
  explicit UnfinishedLines(uint64_t bytes);

  /// Appends at least one byte to `line`. Returns false and drops the line if memory is
  /// insufficient. A line may grow while it is not longer than the remaining memory. When memory
  /// becomes scarce, long lines are dropped and short ones are still accepted.
  bool Append(uint32_t& line, std::string_view bytes);
  /// Starts `line`, which has no bytes yet. May read kSpareBytes after `bytes`.
  bool Begin(uint32_t& line, std::string_view bytes);
  /// Replaces the bytes of `line` with `bytes`, which must not be empty. Returns false and does
  /// nothing unless both the old and the new bytes fit into one block. May read kSpareBytes after
  /// `bytes`.
  bool Replace(uint32_t line, std::string_view bytes) {
    if (line == 0 || Length(line) > kFirstBytes || bytes.size() > kFirstBytes) return false;
    // Copies a whole block, because a constant-size copy is faster.
    std::memcpy(blocks_[line].first.bytes, bytes.data(), kFirstBytes);
    blocks_[line].first.length = static_cast<uint32_t>(bytes.size());
    return true;
  }
  uint32_t Length(uint32_t line) const { return blocks_[line].first.length; }
  /// Copies the bytes of `line` to `to`. May write up to kSpareBytes after them.
  void Copy(uint32_t line, char* to) const;
  void Drop(uint32_t& line);

  /// Returns the memory in use by lines, in bytes.
  uint64_t bytes_in_use() const { return uint64_t{in_use_} * sizeof(Block); }

 private:
  // Two cache lines, because most log lines fit into one block of this size.
  static constexpr uint32_t kBlockBytes = 128;
  static constexpr uint32_t kFirstBytes = kBlockBytes - 12;
  static constexpr uint32_t kOtherBytes = kBlockBytes - 4;
  static_assert(kOtherBytes <= kSpareBytes);
  struct Block {
    uint32_t next;  ///< Next block of the line, or next free block.
    union {
      struct {
        uint32_t last;    ///< Last block of the line.
        uint32_t length;  ///< Length of the line.
        char bytes[kFirstBytes];
      } first;
      char bytes[kOtherBytes];
    };
  };
  static_assert(sizeof(Block) == kBlockBytes);

  static uint32_t BlocksOf(uint32_t length);
  uint32_t AllocateBlock();

  uint32_t block_count_;  ///< Excludes block 0, which does not belong to any line and has length 0.
  std::unique_ptr<Block[]> blocks_;
  uint32_t in_use_ = 0;
  uint32_t free_ = 0;       ///< List of freed blocks.
  uint32_t untouched_ = 1;  ///< First block that was never used.
};

}  // namespace sluice::engine::logmon
