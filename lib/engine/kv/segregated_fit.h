// SPDX-License-Identifier: BSD-3-Clause
//
// A heap in one memory area, with lists of free blocks by size. Adjacent free blocks are merged
// immediately, up to kMaxBlock (MICA, NSDI'14, section 4.3.1; the classes are those of TLSF,
// ECRTS'04). Used by one thread; other threads may load words of blocks, even of freed blocks.
//
// A block starts with a head of 32 bits, which the user must not write. In a free block, the second
// and third 64-bit words are the links of its list, and the last word is the block's size.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/kv/mapping.h"

namespace sluice::engine::kv {

class SegregatedFit {
 public:
  static constexpr uint64_t kMinBlock = 32;
  /// Longest block that a head can encode. Larger memory areas consist of several blocks.
  static constexpr uint64_t kMaxBlock = uint64_t{4} << 30;

  /// Reserves `bytes`, rounded down to a multiple of 8, at least 4096. Throws std::bad_alloc.
  explicit SegregatedFit(uint64_t bytes);

  /// Allocates the pages of the whole heap; see Mapping::Populate.
  void PopulatePages() { mapping_.Populate(bytes_); }

  uint8_t* data() const { return mapping_.data(); }
  uint64_t bytes() const { return bytes_; }
  uint64_t reserved_bytes() const { return mapping_.bytes(); }

  /// Returns the offset of a block of at least `bytes`, including the head, or nullopt if none is
  /// found. The time is bounded: among blocks that may be too short, only a few are tried, so a
  /// fitting block may be missed.
  std::optional<uint64_t> Allocate(uint64_t bytes);
  void Free(uint64_t offset);
  /// Frees the part of a block beyond its first `bytes` if that part is large enough for a block.
  void Shrink(uint64_t offset, uint64_t bytes);
  /// Returns the allocated bytes, including unused bytes in blocks.
  uint64_t allocated_bytes() const { return allocated_; }
  void Clear();

  /// For tests: returns whether heads, sizes, lists and neighbours are consistent. Visits all
  /// blocks.
  bool IsConsistent() const;

 private:
  // One class per multiple of 8 up to 512 bytes, then eight classes per power of two.
  static constexpr uint32_t kExact = 64;
  static constexpr uint32_t kClasses = kExact + (33 - 9) * 8;
  static constexpr uint32_t kWords = (kClasses + 63) / 64;
  static constexpr uint64_t kNone = ~uint64_t{0};

  struct Block {
    uint32_t head;  ///< Size / 8 << 2 | previous is free << 1 | free; the size is a multiple of 8.
    uint32_t user;
    uint64_t next;  ///< Links of the list; kNone at its end.
    uint64_t before;
  };

  static uint32_t ClassOf(uint64_t bytes);
  Block& block(uint64_t offset) const { return *reinterpret_cast<Block*>(data() + offset); }
  uint64_t& footer(uint64_t end) const { return *reinterpret_cast<uint64_t*>(data() + end - 8); }
  static uint64_t SizeOf(uint32_t head) { return uint64_t{head >> 2} * 8; }
  static uint32_t Head(uint64_t bytes, bool previous_free, bool free) {
    return static_cast<uint32_t>(bytes / 8) << 2 | uint32_t{previous_free} << 1 | uint32_t{free};
  }
  /// Sets the "previous is free" bit of the next block, if there is one.
  void SetPreviousFree(uint64_t end, bool free);
  void Insert(uint64_t offset, uint64_t bytes);
  void Unlink(uint64_t offset);
  std::optional<uint64_t> Find(uint64_t bytes) const;

  uint64_t bytes_;
  Mapping mapping_;
  uint64_t allocated_ = 0;
  std::array<uint64_t, kClasses> first_;
  std::array<uint64_t, kWords> filled_;  ///< A bit for each class whose list is not empty.
};

}  // namespace sluice::engine::kv
