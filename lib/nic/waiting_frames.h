// SPDX-License-Identifier: BSD-3-Clause
//
// Frames that an engine sent while its interface had no place to put them: copies, first in,
// first out, in memory of a fixed size. Used by BilateralQueue.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace sluice::nic {

/// Used by one worker.
class WaitingFrames {
 public:
  /// Makes room for `bytes`, which count four a frame besides its own. Before the first Push.
  void Reserve(uint32_t bytes) { memory_.resize(bytes); }
  bool empty() const { return begin_ == end_; }

  /// Takes a copy. False: no room.
  bool Push(const uint8_t* frame, uint32_t length) {
    if (length + sizeof(length) > memory_.size() - end_) MoveToFront();
    if (length + sizeof(length) > memory_.size() - end_) return false;
    std::memcpy(&memory_[end_], &length, sizeof(length));
    std::memcpy(&memory_[end_] + sizeof(length), frame, length);
    end_ += sizeof(length) + length;
    return true;
  }
  /// The oldest frame; valid until the next call that is not const. Only if not empty.
  std::span<const uint8_t> Front() const {
    uint32_t length;
    std::memcpy(&length, &memory_[begin_], sizeof(length));
    return {&memory_[begin_] + sizeof(length), length};
  }
  /// Forgets it.
  void Pop() {
    begin_ += sizeof(uint32_t) + Front().size();
    if (empty()) begin_ = end_ = 0;
  }

 private:
  void MoveToFront() {
    if (begin_ == 0) return;
    std::memmove(memory_.data(), &memory_[begin_], end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }

  std::vector<uint8_t> memory_;  ///< [begin_, end_): length, then the bytes, of each frame.
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace sluice::nic
