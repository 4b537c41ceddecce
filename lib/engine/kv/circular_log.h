// SPDX-License-Identifier: BSD-3-Clause
//
// A circular log of items: the newest items overwrite the oldest (MICA, NSDI'14, section 4.3.1). An
// item that does not fit before the end of the memory is placed at the start. (MICA maps the memory
// twice instead, which needs shared memory, for which most hosts provide no huge pages.) Only one
// thread changes the log.
#pragma once

#include <cstdint>

#include "engine/kv/item.h"
#include "engine/kv/mapping.h"

namespace sluice::engine::kv {

class CircularLog {
 public:
  static constexpr uint64_t kMinBytes = uint64_t{4} << 20;

  /// Reserves `bytes`, rounded up to a power of two, at least kMinBytes. Throws std::bad_alloc.
  explicit CircularLog(uint64_t bytes);

  /// Allocates the pages of the whole log; see Mapping::Populate.
  void PopulatePages() { mapping_.Populate(bytes()); }

  uint64_t bytes() const { return mask_ + 1; }
  /// Returns the length of the longest item that Append accepts: a quarter of the log, but at most
  /// the maximum that Item::lengths can encode.
  uint64_t max_item_bytes() const { return max_item_bytes_; }
  uint8_t* data() const { return mapping_.data(); }
  Item* item(uint64_t offset) const { return reinterpret_cast<Item*>(data() + offset); }

  /// Returns the offset of the end of the newest item. Only Append changes it.
  uint64_t tail() const { return tail_; }
  /// Returns the number of bytes from the start of a live item to the end of the newest item; less
  /// than bytes().
  uint64_t Age(uint64_t offset) const { return (tail_ - offset) & mask_; }

  /// Allocates `bytes`, a multiple of 8 up to max_item_bytes(), and returns the offset. First calls
  /// `drop(offset, item)` for each item to be overwritten, oldest first; their memory is unchanged
  /// until the caller writes. The caller must write the new item before the next Append.
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
  /// Returns whether Append of `bytes` would overwrite the item at `offset`.
  bool WouldDrop(uint64_t offset, uint64_t bytes) const {
    const uint64_t left = this->bytes() - tail_;
    return Age(offset) + (bytes > left ? left + bytes : bytes) > mask_;
  }
  /// Returns the next item to be overwritten; null unless more than about seven eighths of the log
  /// is used.
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
  uint64_t tail_ = 0;     ///< Offset of the end of the newest item; at most bytes().
  uint64_t used_ = 0;     ///< Bytes before tail_, including dead items. Below bytes().
  uint64_t end_ = kNone;  ///< End of the previous round's items; kNone if there are none.
};

}  // namespace sluice::engine::kv
