// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of a connection that its engine has not consumed yet, contiguous in memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace sluice::engine {

/// Memory limit that all connections of a worker share.
struct UnreadLimit {
  uint64_t bytes_left;
};

class UnreadBytes {
 public:
  /// Return the bytes and their number.
  const uint8_t* data() const { return memory_.get() + begin_; }
  uint32_t size() const { return end_ - begin_; }

  /// Appends `count` bytes. Returns false and leaves the bytes unchanged if the limit would be
  /// exceeded.
  bool Append(const uint8_t* bytes, uint32_t count, UnreadLimit& limit) {
    if (count == 0) return true;
    if (count > capacity_ - end_ && !MakeRoom(count, limit)) return false;
    std::memcpy(memory_.get() + end_, bytes, count);
    end_ += count;
    return true;
  }
  /// Removes the first `count` bytes, at most size(). If no bytes are left, frees memory that
  /// exceeds kKeptBytes.
  void Remove(uint32_t count, UnreadLimit& limit) {
    begin_ += count;
    if (begin_ != end_) return;
    begin_ = end_ = 0;
    if (capacity_ > kKeptBytes) Free(limit);
  }
  /// Removes the last `count` bytes, at most size().
  void RemoveLast(uint32_t count) { end_ -= count; }
  /// Removes all bytes and frees the memory.
  void Clear(UnreadLimit& limit) {
    begin_ = end_ = 0;
    Free(limit);
  }

 private:
  /// Memory up to this size is kept for the next incomplete request.
  static constexpr uint32_t kKeptBytes = 4096;

  /// Moves the bytes to the start of the memory, or to a larger memory block if less than half of
  /// it is free. Copying costs a constant number of operations per appended byte.
  bool MakeRoom(uint32_t count, UnreadLimit& limit) {
    const uint32_t used = size();
    if (used + count <= capacity_ / 2) {
      std::memmove(memory_.get(), data(), used);
    } else {
      const uint32_t wanted = std::max(kKeptBytes, std::bit_ceil(2 * (used + count)));
      if (wanted - capacity_ > limit.bytes_left) return false;
      auto larger = std::make_unique_for_overwrite<uint8_t[]>(wanted);
      if (used != 0) std::memcpy(larger.get(), data(), used);
      limit.bytes_left -= wanted - capacity_;
      memory_ = std::move(larger);
      capacity_ = wanted;
    }
    begin_ = 0;
    end_ = used;
    return true;
  }
  void Free(UnreadLimit& limit) {
    limit.bytes_left += std::exchange(capacity_, 0);
    memory_.reset();
  }

  std::unique_ptr<uint8_t[]> memory_;
  uint32_t capacity_ = 0;
  uint32_t begin_ = 0, end_ = 0;  ///< The unread bytes in memory_.
};

}  // namespace sluice::engine
