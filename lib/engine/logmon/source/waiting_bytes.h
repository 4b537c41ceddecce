// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of TCP streams that came before their turn. They lie where their sequence numbers say, in
// blocks of one pool that is allocated at construction, with a bit for each byte that is there:
// however segments are cut, repeated or laid over each other, a stream takes no more blocks than
// its window spans, and the first bytes received are the ones that stay.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::engine::logmon {

/// What one stream has waiting; a handle into the pool.
struct Waiting {
  uint32_t first = 0, last = 0;  ///< Blocks in the order of their bytes; 0: nothing waits.

  bool empty() const { return first == 0; }
};

/// One worker's. Sequence numbers of one stream lie within 2^30 of each other.
class WaitingBytes {
 public:
  static constexpr uint32_t kBlockBytes = 2048;

  /// As many blocks as fit into `bytes`, at least one.
  explicit WaitingBytes(uint64_t bytes);

  /// Keeps of `bytes`, the first of which has the number `sequence`, those that are not there yet.
  /// False: the pool has no room for all of them.
  bool Keep(Waiting& waiting, uint32_t sequence, std::string_view bytes);
  /// Frees what is only before `sequence`. Before the calls below, if a stream went on.
  void Advance(Waiting& waiting, uint32_t sequence);
  /// Number of the first byte at or behind `sequence`, of a stream with something there.
  uint32_t FirstFrom(const Waiting& waiting, uint32_t sequence) const;
  /// The bytes from `sequence` on as far as they lie together; empty if that one is missing.
  /// Valid until the stream is given to Keep, Advance or Forget.
  std::string_view RunFrom(const Waiting& waiting, uint32_t sequence) const;
  void Forget(Waiting& waiting);

  uint32_t blocks() const { return static_cast<uint32_t>(blocks_.size()) - 1; }
  uint32_t used_blocks() const { return used_; }
  /// All that it ever allocates.
  uint64_t memory_bytes() const { return blocks_.size() * sizeof(Block); }

 private:
  /// Holds the bytes from a multiple of kBlockBytes on.
  struct Block {
    uint32_t next = 0;
    uint32_t begin = 0;
    std::array<uint64_t, kBlockBytes / 64> present;
    std::array<char, kBlockBytes> bytes;

    /// The first offset from `from` on whose byte is there (or is not), or kBlockBytes.
    uint32_t Next(uint32_t from, bool there) const;
    void Keep(uint32_t offset, std::string_view more);
  };

  /// The block that begins at `begin`; null: there is none, and none is free.
  Block* BlockAt(Waiting& waiting, uint32_t begin);
  uint32_t Take(uint32_t begin);
  void FreeFirst(Waiting& waiting);

  std::vector<Block> blocks_;  ///< From 1 on.
  uint32_t free_ = 0;
  uint32_t used_ = 0;
};

}  // namespace sluice::engine::logmon
