// SPDX-License-Identifier: BSD-3-Clause
//
// A device's register window as the host sees it: posted stores and blocking
// reads. Behind it stands a mapped PCI BAR or, for a model, one queue of posted
// writes per host thread (posted_queue.h). Drivers see only this class and
// cannot tell which it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bar/fence.h"
#include "bar/posted_queue.h"

namespace sluice::bar {

/// Register access. Copies refer to the same window. Every method may be called
/// from any thread; stores of one thread reach the device in program order, a
/// read of a thread travels behind that thread's stores (PCIe ordering), and
/// threads are not ordered among themselves.
class Bar {
 public:
  Bar() = default;
  /// A mapped BAR of `bytes`. The mapping stays the caller's.
  Bar(volatile void* mmio, size_t bytes)
      : mmio_(static_cast<volatile uint8_t*>(mmio)), bytes_(bytes) {}
  /// A model's window. The queue stays the caller's and outlives the Bar, as does the context of
  /// `waiting`, which is called by threads that wait for the model.
  Bar(PostedQueue* queue, size_t bytes, Waiting waiting = {})
      : queue_(queue), waiting_(waiting), bytes_(bytes) {}

  /// Posted stores of 4 and of 8 bytes; `offset` is aligned to the size and lies
  /// below `bytes()`. Prior stores to memory are visible to the device before the
  /// register store is. Returns at once; a model whose queue stays full for
  /// PostedQueue::kTimeout takes the link down and stores are discarded.
  void Write32(uint32_t offset, uint32_t value) {
    if (mmio_ != nullptr) {
      RegisterFence();
      *reinterpret_cast<volatile uint32_t*>(mmio_ + offset) = value;
    } else {
      queue_->Post({offset, 4, value}, waiting_);
    }
  }
  void Write64(uint32_t offset, uint64_t value) {
    if (mmio_ != nullptr) {
      RegisterFence();
      *reinterpret_cast<volatile uint64_t*>(mmio_ + offset) = value;
    } else {
      queue_->Post({offset, 8, value}, waiting_);
    }
  }

  /// Non-posted reads: block for a round trip. All ones if the link is down, as a
  /// PCIe completion timeout reads.
  uint32_t Read32(uint32_t offset) {
    if (mmio_ != nullptr) return *reinterpret_cast<volatile uint32_t*>(mmio_ + offset);
    return static_cast<uint32_t>(queue_->Read({offset, 4, 0}, waiting_));
  }
  uint64_t Read64(uint32_t offset) {
    if (mmio_ != nullptr) return *reinterpret_cast<volatile uint64_t*>(mmio_ + offset);
    return queue_->Read({offset, 8, 0}, waiting_);
  }

  /// False once the device stopped draining its window. Always true on PCI, where
  /// a read of all ones is the only sign.
  bool LinkUp() const { return queue_ == nullptr || queue_->LinkUp(); }
  size_t bytes() const { return bytes_; }
  bool valid() const { return mmio_ != nullptr || queue_ != nullptr; }

 private:
  volatile uint8_t* mmio_ = nullptr;
  PostedQueue* queue_ = nullptr;
  Waiting waiting_;
  size_t bytes_ = 0;
};

}  // namespace sluice::bar
