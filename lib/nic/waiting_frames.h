// SPDX-License-Identifier: BSD-3-Clause
//
// Copies of frames that an engine sent while its interface could not store them, first in, first
// out, in memory of a fixed size. Used by BilateralQueue.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace sluice::nic {

/// Queue of copied frames. Used by one worker.
class WaitingFrames {
 public:
  /// Allocates `bytes` of memory; each frame needs four more bytes than its length. Must be called
  /// before the first Push.
  void Reserve(uint32_t bytes) { memory_.resize(bytes); }
  bool empty() const { return begin_ == end_; }

  /// Stores a copy of a frame. Returns false if it does not fit.
  bool Push(const uint8_t* frame, uint32_t length) {
    if (length + sizeof(length) > memory_.size() - end_) MoveToFront();
    if (length + sizeof(length) > memory_.size() - end_) return false;
    std::memcpy(&memory_[end_], &length, sizeof(length));
    std::memcpy(&memory_[end_] + sizeof(length), frame, length);
    end_ += sizeof(length) + length;
    return true;
  }
  /// Returns the oldest frame; valid until the next non-const call. Must not be called if empty.
  std::span<const uint8_t> Front() const {
    uint32_t length;
    std::memcpy(&length, &memory_[begin_], sizeof(length));
    return {&memory_[begin_] + sizeof(length), length};
  }
  /// Removes the oldest frame.
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

  std::vector<uint8_t> memory_;  ///< [begin_, end_): the length and the bytes of each frame.
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace sluice::nic
