// SPDX-License-Identifier: BSD-3-Clause
//
// The bytes of lines whose end has not come yet, in chained blocks of one size. The memory is
// taken from the system once; blocks that were never needed are never touched.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace sluice::engine::logmon {

/// Lines are numbered; 0 is a line without bytes.
class UnfinishedLines {
 public:
  static constexpr uint32_t kSpareBytes = 124;

  /// `bytes` of memory for all lines together and for what keeping them takes.
  explicit UnfinishedLines(uint64_t bytes);

  /// Appends to `line`, at least one byte. False: there is no memory for that, and the line is
  /// dropped. A line may grow as long as it is not longer than the memory that is left: when that
  /// gets scarce, long lines go, and short ones still come.
  bool Append(uint32_t& line, std::string_view bytes);
  /// The same of a line without bytes. kSpareBytes behind `bytes` may be read.
  bool Begin(uint32_t& line, std::string_view bytes);
  uint32_t Length(uint32_t line) const { return blocks_[line].first.length; }
  /// Copies the bytes of `line` to `to`. May write kSpareBytes there and behind them.
  void Copy(uint32_t line, char* to) const;
  void Drop(uint32_t& line);

  /// What the lines hold of the memory.
  uint64_t bytes_in_use() const { return uint64_t{in_use_} * sizeof(Block); }

 private:
  // Two cache lines: most lines of logs take one block.
  static constexpr uint32_t kBlockBytes = 128;
  static constexpr uint32_t kFirstBytes = kBlockBytes - 12;
  static constexpr uint32_t kOtherBytes = kBlockBytes - 4;
  static_assert(kOtherBytes <= kSpareBytes);
  struct Block {
    uint32_t next;  ///< Of the line's blocks, or of the free ones.
    union {
      struct {
        uint32_t last;    ///< Of the line's blocks.
        uint32_t length;  ///< Of the line.
        char bytes[kFirstBytes];
      } first;
      char bytes[kOtherBytes];
    };
  };
  static_assert(sizeof(Block) == kBlockBytes);

  static uint32_t BlocksOf(uint32_t length);
  uint32_t TakeBlock();

  uint32_t block_count_;  ///< Without block 0, which is that of no line, and has no length.
  std::unique_ptr<Block[]> blocks_;
  uint32_t in_use_ = 0;
  uint32_t free_ = 0;       ///< A chain of blocks that were given back.
  uint32_t untouched_ = 1;  ///< The first of those that nobody has had.
};

}  // namespace sluice::engine::logmon
