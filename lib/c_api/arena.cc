// SPDX-License-Identifier: BSD-3-Clause
#include "c_api/arena.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace sluice::c_api {

void Arena::Clear() {
  if (chunks_.size() > kKeptChunks) chunks_.resize(kKeptChunks);
  chunk_ = used_ = 0;
}

uint8_t* Arena::Allocate(size_t bytes) {
  for (; chunk_ < chunks_.size(); ++chunk_, used_ = 0) {
    Chunk& chunk = chunks_[chunk_];
    if (chunk.bytes - used_ < bytes) continue;
    return chunk.memory.get() + std::exchange(used_, used_ + bytes);
  }
  try {
    const size_t size = std::max(bytes, kChunkBytes);
    Chunk chunk{std::unique_ptr<uint8_t[]>(new uint8_t[size]), size};
    chunks_.push_back(std::move(chunk));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  used_ = bytes;
  return chunks_.back().memory.get();
}

uint8_t* Arena::Copy(const void* from, size_t bytes) {
  uint8_t* const to = Allocate(bytes);
  if (to != nullptr && bytes != 0) std::memcpy(to, from, bytes);
  return to;
}

}  // namespace sluice::c_api
