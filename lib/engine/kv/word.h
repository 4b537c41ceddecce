// SPDX-License-Identifier: BSD-3-Clause
//
// Word access to memory that one thread writes while others read it. All accesses are relaxed: a
// reader may see a mixture of two states and must check a version (index.h). Words are
// little-endian.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>

#include "engine/kv/hash.h"

namespace sluice::engine::kv {

static_assert(std::endian::native == std::endian::little);

template <typename T>
T LoadWord(const T& from) {
  return std::atomic_ref<T>(const_cast<T&>(from)).load(std::memory_order_relaxed);
}
template <typename T>
void StoreWord(T& to, T value) {
  std::atomic_ref<T>(to).store(value, std::memory_order_relaxed);
}
/// Adds to a value that only the calling thread writes.
template <typename T>
void Increase(T& value, T by) {
  StoreWord(value, static_cast<T>(value + by));
}

constexpr uint64_t RoundUp8(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }

inline uint64_t LoadBytes(const uint8_t* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

/// Loads `bytes` < 8 bytes into a word padded with zeros. Does not read beyond them.
inline uint64_t LoadPart(const uint8_t* from, size_t bytes) {
  if (bytes >= 4) {
    uint32_t low, high;
    std::memcpy(&low, from, 4);
    std::memcpy(&high, from + bytes - 4, 4);
    return low | uint64_t{high} << (8 * (bytes - 4));
  }
  if (bytes == 0) return 0;
  return from[0] | uint64_t{from[bytes / 2]} << (8 * (bytes / 2)) |
         uint64_t{from[bytes - 1]} << (8 * (bytes - 1));
}

/// Returns whether the words at `words` equal `bytes`, padded with zeros to a full word.
inline bool EqualWords(const uint64_t* words, Bytes bytes) {
  const uint8_t* from = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, from += 8, ++words) {
    if (LoadWord(*words) != LoadBytes(from)) return false;
  }
  return left == 0 || LoadWord(*words) == LoadPart(from, left);
}

inline void CopyFromWords(uint8_t* to, const uint64_t* words, size_t bytes) {
  for (; bytes >= 8; bytes -= 8, to += 8, ++words) {
    const uint64_t word = LoadWord(*words);
    std::memcpy(to, &word, 8);
  }
  if (bytes == 0) return;
  const uint64_t word = LoadWord(*words);
  std::memcpy(to, &word, bytes);
}

/// Writes byte sequences contiguously as words; pads the last word with zeros.
class WordWriter {
 public:
  explicit WordWriter(uint64_t* to) : to_(to) {}

  void Write(Bytes bytes) {
    const uint8_t* from = bytes.data();
    size_t left = bytes.size();
    if (filled_ == 0) {
      for (; left >= 8; left -= 8, from += 8) StoreWord(*to_++, LoadBytes(from));
    } else {
      for (; left >= 8; left -= 8, from += 8) {
        const uint64_t word = LoadBytes(from);
        StoreWord(*to_++, pending_ | word << (8 * filled_));
        pending_ = word >> (64 - 8 * filled_);
      }
    }
    if (left == 0) return;
    const uint64_t word = LoadPart(from, left);
    pending_ |= word << (8 * filled_);
    const size_t filled = filled_ + left;
    if (filled >= 8) {
      StoreWord(*to_++, pending_);
      // filled_ + left > 8 implies filled_ > 1: no shift by 64.
      pending_ = filled == 8 ? 0 : word >> (64 - 8 * filled_);
    }
    filled_ = filled % 8;
  }
  /// Returns the address after the last word.
  uint64_t* Finish() {
    if (filled_ != 0) StoreWord(*to_++, pending_);
    pending_ = 0;
    filled_ = 0;
    return to_;
  }

 private:
  uint64_t* to_;
  uint64_t pending_ = 0;
  size_t filled_ = 0;  ///< Valid bytes of `pending_`; the others are 0.
};

}  // namespace sluice::engine::kv
