// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of TCP streams that arrived before earlier ones. They are stored by sequence number in
// blocks of a pool that is allocated at construction. One bit per byte records whether the byte has
// arrived. A stream uses no more blocks than its window spans, regardless of how segments are
// divided, repeated or overlapped. If a byte arrives twice, the first value is kept.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

/// The waiting bytes of one stream; a handle into the pool.
struct Waiting {
  uint32_t first = 0, last = 0;  ///< First and last block, in the order of their bytes; 0: none.

  bool empty() const { return first == 0; }
};

/// The waiting bytes of one worker's streams. Sequence numbers of a stream must be within 2^30 of
/// each other.
class WaitingBytes {
 public:
  static constexpr uint32_t kBlockBytes = 2048;

  /// Allocates as many blocks as fit into `bytes`, at least one.
  explicit WaitingBytes(uint64_t bytes);

  /// Stores those of `bytes` that have not arrived yet. The first byte has number `sequence`.
  /// Returns false if the pool does not have enough room for all of them; some of them may still be
  /// stored.
  bool Keep(Waiting& waiting, uint32_t sequence, std::string_view bytes);
  /// Frees the first blocks as long as they have no arrived byte at or after `sequence`. Must be
  /// called after the stream has advanced and before the functions below.
  void Advance(Waiting& waiting, uint32_t sequence);
  /// Returns the number of the first byte at or after `sequence` that has arrived. There must be
  /// such a byte.
  uint32_t FirstFrom(const Waiting& waiting, uint32_t sequence) const;
  /// Returns the contiguous bytes from `sequence` on, at most to the end of their block; empty if
  /// the byte at `sequence` is missing. Valid until Keep, Advance or Forget for this stream.
  std::string_view RunFrom(const Waiting& waiting, uint32_t sequence) const;
  void Forget(Waiting& waiting);

  uint32_t blocks() const { return static_cast<uint32_t>(blocks_.size()) - 1; }
  uint32_t used_blocks() const { return used_; }
  /// Returns the number of bytes allocated; constant.
  uint64_t memory_bytes() const { return blocks_.size() * sizeof(Block); }

 private:
  /// Contains kBlockBytes bytes. `begin`, the sequence number of the first byte, is a multiple of
  /// kBlockBytes.
  struct Block {
    uint32_t next = 0;
    uint32_t begin = 0;
    std::array<uint64_t, kBlockBytes / 64> present;
    std::array<char, kBlockBytes> bytes;

    /// Returns the first offset at or after `from` whose byte has arrived if `there` is true, or is
    /// missing if `there` is false; kBlockBytes if there is none.
    uint32_t Next(uint32_t from, bool there) const;
    void Keep(uint32_t offset, std::string_view more);
  };

  /// Returns the block that starts at `begin`; adds it if it does not exist. Returns null if no
  /// block is free.
  Block* BlockAt(Waiting& waiting, uint32_t begin);
  uint32_t Allocate(uint32_t begin);
  void FreeFirst(Waiting& waiting);

  std::vector<Block> blocks_;  ///< Index 0 is unused.
  uint32_t free_ = 0;
  uint32_t used_ = 0;
};

}  // namespace sluice::engine::logmon
