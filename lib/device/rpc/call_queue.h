// SPDX-License-Identifier: BSD-3-Clause
//
// The queue of calls waiting for one process: a ring whose capacity is fixed when the process is
// added.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::device::rpc {

/// Identifies a call in the device; the index of its slot. A call is in at most one of the
/// dispatcher's queues.
using CallId = uint32_t;

/// A first-in, first-out queue.
class CallQueue {
 public:
  CallQueue() = default;
  explicit CallQueue(uint32_t capacity) : calls_(capacity) {}

  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == calls_.size(); }

  /// Returns whether `matches(call)` is true for any call in the queue.
  template <typename Matches>
  bool HasAny(Matches matches) const {
    for (uint32_t i = 0; i < size_; ++i) {
      if (matches(calls_[Wrapped(first_ + i)])) return true;
    }
    return false;
  }

  /// Requires !full().
  void Push(CallId call) {
    calls_[Wrapped(first_ + size_)] = call;
    ++size_;
  }
  /// Requires !empty().
  CallId Pop() {
    const CallId call = calls_[first_];
    first_ = Wrapped(first_ + 1);
    --size_;
    return call;
  }

 private:
  uint32_t Wrapped(uint32_t index) const {
    const auto capacity = static_cast<uint32_t>(calls_.size());
    return index < capacity ? index : index - capacity;
  }

  std::vector<CallId> calls_;
  uint32_t first_ = 0;
  uint32_t size_ = 0;
};

}  // namespace sluice::device::rpc
