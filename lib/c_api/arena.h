// SPDX-License-Identifier: BSD-3-Clause
//
// A worker's memory for results that are valid until its next call: frames that do not fit into
// their buffers, generated frames, and the text and source names of matched log lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::c_api {

/// Allocates memory from chunks. Used by one thread. Keeps up to kKeptChunks chunks between calls,
/// so a worker call that fits into them allocates nothing.
class Arena {
 public:
  /// Invalidates all returned memory.
  void Clear();
  /// Returns `bytes` bytes of memory, or null if none is available.
  uint8_t* Allocate(size_t bytes);
  /// Like Allocate; copies `bytes` bytes at `from` into the returned memory.
  uint8_t* Copy(const void* from, size_t bytes);

 private:
  static constexpr size_t kChunkBytes = size_t{1} << 18;
  static constexpr size_t kKeptChunks = 16;

  struct Chunk {
    std::unique_ptr<uint8_t[]> memory;
    size_t bytes = 0;
  };

  std::vector<Chunk> chunks_;
  size_t chunk_ = 0;  ///< Index of the current chunk.
  size_t used_ = 0;   ///< Used bytes in the current chunk.
};

}  // namespace sluice::c_api
