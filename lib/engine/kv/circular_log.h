// SPDX-License-Identifier: BSD-3-Clause
//
// Items behind one another, round and round: the newest overwrite the oldest (MICA, NSDI'14,
// section 4.3.1). An item that does not fit in front of the end lies at the start. (MICA maps the
// memory twice instead, which takes shared memory, of which most hosts give no huge pages.) Each
// change of the log is of one thread.
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

  /// As Mapping::Take.
  void TakePages() { mapping_.Take(bytes()); }

  uint64_t bytes() const { return mask_ + 1; }
  /// The longest that Append takes: a quarter of the log, and what an item's lengths can say.
  uint64_t max_item_bytes() const { return max_item_bytes_; }
  uint8_t* data() const { return mapping_.data(); }
  Item* item(uint64_t offset) const { return reinterpret_cast<Item*>(data() + offset); }

  /// From the start of an item that is there to the end of the newest. Below bytes().
  uint64_t Age(uint64_t offset) const { return (tail_ - offset) & mask_; }

  /// Takes `bytes`, a multiple of 8, at most max_item_bytes(): returns the offset. Calls
  /// `drop(offset, item)` before for each item in the way, the oldest first; all are as they
  /// were until something is written. The caller writes the item before the next Append.
  template <typename Drop>
  uint64_t Append(uint64_t bytes, Drop&& drop) {
    if (bytes > this->bytes() - tail_) [[unlikely]] {
      MakeRoom(this->bytes() - tail_, drop);
      used_ += this->bytes() - tail_;
      end_ = tail_;
      tail_ = 0;
    }
    MakeRoom(bytes, drop);
    const uint64_t offset = tail_;
    used_ += bytes;
    tail_ += bytes;
    return offset;
  }
  /// Whether an item would be in the way of `bytes` more.
  bool WouldDrop(uint64_t offset, uint64_t bytes) const {
    const uint64_t left = this->bytes() - tail_;
    return Age(offset) + (bytes > left ? left + bytes : bytes) > mask_;
  }
  /// The item that is the next in the way; null: there is none, or the log is far from full.
  const Item* NextToDrop() const {
    if (used_ + bytes() / 8 <= mask_) return nullptr;
    const uint64_t oldest = Oldest();
    return item(oldest == end_ ? 0 : oldest);
  }
  void Clear() {
    used_ = 0;
    end_ = kNone;
  }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  uint64_t Oldest() const { return (tail_ - used_) & mask_; }
  template <typename Drop>
  void MakeRoom(uint64_t bytes, Drop& drop) {
    while (used_ + bytes > mask_) {
      const uint64_t oldest = Oldest();
      if (oldest == end_) {
        used_ -= this->bytes() - end_;
        end_ = kNone;
        continue;
      }
      const Item& item = *this->item(oldest);
      const uint64_t size = item.size();
      drop(oldest, item);
      used_ -= size;
    }
  }

  uint64_t mask_;
  uint64_t max_item_bytes_;
  Mapping mapping_;
  uint64_t tail_ = 0;     ///< At most bytes().
  uint64_t used_ = 0;     ///< Bytes in front of tail_, dead items included. Below bytes().
  uint64_t end_ = kNone;  ///< Where the last round's items end, while some are left of it.
};

}  // namespace sluice::engine::kv
