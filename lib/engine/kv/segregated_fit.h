// SPDX-License-Identifier: BSD-3-Clause
//
// A heap in one stretch of memory: lists of free blocks by size, neighbours that are free become
// one at once (MICA, NSDI'14, section 4.3.1; the classes are those of TLSF, ECRTS'04). Used by
// one thread; others may look at blocks, even freed ones, by the word.
//
// A block starts with a head of 32 bits that the user leaves alone; of a free one, the two words
// behind the head's are the neighbours in its list, and the last word is the size.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/kv/mapping.h"

namespace sluice::engine::kv {

class SegregatedFit {
 public:
  static constexpr uint64_t kMinBlock = 32;
  /// Longest block: what a head can say. Longer stretches are several.
  static constexpr uint64_t kMaxBlock = uint64_t{4} << 30;

  /// `bytes`, rounded down to a multiple of 8, at least 4096. Throws std::bad_alloc.
  explicit SegregatedFit(uint64_t bytes);

  /// As Mapping::Take.
  void TakePages() { mapping_.Take(bytes_); }

  uint8_t* data() const { return mapping_.data(); }
  uint64_t bytes() const { return bytes_; }
  uint64_t reserved_bytes() const { return mapping_.bytes(); }

  /// The offset of a block of at least `bytes`, the head among them; nothing: there is none.
  /// Takes bounded time: of blocks that may be a little short, it tries a few.
  std::optional<uint64_t> Allocate(uint64_t bytes);
  void Free(uint64_t offset);
  /// Frees what a block has behind its first `bytes`, if it is a block's worth.
  void Shrink(uint64_t offset, uint64_t bytes);
  /// All that is allocated, with what is lost to fragments inside blocks.
  uint64_t allocated_bytes() const { return allocated_; }
  void Clear();

  /// Whether heads, sizes, lists and neighbours agree: for tests, walks everything.
  bool IsConsistent() const;

 private:
  // Up to 512 bytes a class for each multiple of 8, above 8 for each power of two.
  static constexpr uint32_t kExact = 64;
  static constexpr uint32_t kClasses = kExact + (33 - 9) * 8;
  static constexpr uint32_t kWords = (kClasses + 63) / 64;
  static constexpr uint64_t kNone = ~uint64_t{0};

  struct Block {
    uint32_t head;  ///< Size, a multiple of 8, / 8 << 2 | previous is free << 1 | free.
    uint32_t user;
    uint64_t next;  ///< Of the list. kNone: no more.
    uint64_t before;
  };

  static uint32_t ClassOf(uint64_t bytes);
  Block& block(uint64_t offset) const { return *reinterpret_cast<Block*>(data() + offset); }
  uint64_t& footer(uint64_t end) const { return *reinterpret_cast<uint64_t*>(data() + end - 8); }
  static uint64_t SizeOf(uint32_t head) { return uint64_t{head >> 2} * 8; }
  static uint32_t Head(uint64_t bytes, bool previous_free, bool free) {
    return static_cast<uint32_t>(bytes / 8) << 2 | uint32_t{previous_free} << 1 | uint32_t{free};
  }
  /// The bit of the block behind, if there is one.
  void TellNext(uint64_t end, bool free);
  void Insert(uint64_t offset, uint64_t bytes);
  void Unlink(uint64_t offset);
  std::optional<uint64_t> Find(uint64_t bytes) const;

  uint64_t bytes_;
  Mapping mapping_;
  uint64_t allocated_ = 0;
  std::array<uint64_t, kClasses> first_;
  std::array<uint64_t, kWords> filled_;  ///< A bit for each class that is not empty.
};

}  // namespace sluice::engine::kv
