// SPDX-License-Identifier: BSD-3-Clause
//
// A worker's memory for what it hands out until its next call: frames that outgrew their room,
// frames that it sends, lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::c_api {

/// One thread's. Grows to what one call needs; a larger burst than any before allocates.
class Arena {
 public:
  /// What was handed out is gone.
  void Clear();
  /// `bytes` of memory; null: there is none.
  uint8_t* Take(size_t bytes);
  /// The same with a copy of `from` in it.
  uint8_t* Copy(const void* from, size_t bytes);

 private:
  static constexpr size_t kChunkBytes = size_t{1} << 18;
  static constexpr size_t kKeptChunks = 16;

  struct Chunk {
    std::unique_ptr<uint8_t[]> memory;
    size_t bytes = 0;
  };

  std::vector<Chunk> chunks_;
  size_t chunk_ = 0;  ///< That is being handed out.
  size_t used_ = 0;   ///< Bytes of it.
};

}  // namespace sluice::c_api
