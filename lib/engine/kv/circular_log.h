// SPDX-License-Identifier: BSD-3-Clause
//
// Items behind one another, round and round: the newest overwrite the oldest (MICA, NSDI'14,
// section 4.3.1). Each change of the log is of one thread.
#pragma once

#include <cstdint>

#include "engine/kv/item.h"
#include "engine/kv/mapping.h"

namespace sluice::engine::kv {

class CircularLog {
 public:
  static constexpr uint64_t kMinBytes = uint64_t{4} << 20;

  /// `bytes`, rounded up to a power of two, at least kMinBytes. Throws std::bad_alloc.
  explicit CircularLog(uint64_t bytes);

  uint64_t bytes() const { return mask_ + 1; }
  /// The longest that Append takes: a quarter of the log, and what an item's lengths can say.
  /// Its bytes lie behind one another, at the log's end, too.
  uint64_t max_item_bytes() const { return max_item_bytes_; }
  uint8_t* data() const { return mapping_.data(); }
  Item* item(uint64_t offset) const { return reinterpret_cast<Item*>(data() + offset); }

  /// From the start of an item that is there to the end of the newest. Below bytes().
  uint64_t Age(uint64_t offset) const { return (tail_ - offset) & mask_; }
  /// Whether an item would be overwritten by `bytes` more.
  bool WouldDrop(uint64_t offset, uint64_t bytes) const { return Age(offset) + bytes > mask_; }

  /// Takes `bytes`, a multiple of 8, at most max_item_bytes(): returns the offset. Calls
  /// `drop(offset, item)` before for each item in the way, the oldest first; all are as they
  /// were until something is written. The caller writes the item before the next Append.
  template <typename Drop>
  uint64_t Append(uint64_t bytes, Drop&& drop) {
    while (used_ + bytes > mask_) {
      const uint64_t oldest = (tail_ - used_) & mask_;
      const Item& item = *this->item(oldest);
      const uint64_t size = item.size();
      drop(oldest, item);
      used_ -= size;
    }
    const uint64_t offset = tail_;
    tail_ = (tail_ + bytes) & mask_;
    used_ += bytes;
    return offset;
  }
  /// The item that is the next in the way; null: there is none, or the log is not full yet.
  const Item* NextToDrop() const {
    if (used_ + bytes() / 8 <= mask_) return nullptr;
    return item((tail_ - used_) & mask_);
  }
  void Clear() { used_ = 0; }

 private:
  uint64_t mask_;
  uint64_t max_item_bytes_;
  Mapping mapping_;
  uint64_t tail_ = 0;
  uint64_t used_ = 0;  ///< Bytes of items in front of tail_, dead ones included. Below bytes().
};

}  // namespace sluice::engine::kv
