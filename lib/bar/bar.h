// SPDX-License-Identifier: BSD-3-Clause
//
// The host's view of a device's register window: posted stores and blocking reads. It is backed by
// a mapped PCI BAR or, for a model, by one queue of posted writes per host thread (posted_queue.h).
// Drivers use only this class and cannot distinguish the two.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bar/fence.h"
#include "bar/function_link.h"
#include "bar/posted_queue.h"

namespace sluice::bar {

/// Register access. Copies refer to the same window. Any thread may call every method. One thread's
/// stores reach the device in program order, and a read reaches it after the same thread's earlier
/// stores (PCIe ordering). Accesses by different threads are not ordered.
class Bar {
 public:
  Bar() = default;
  /// Creates the window of a mapped BAR of `bytes` bytes. The caller owns the mapping and `link`,
  /// which may be null; both must outlive the Bar.
  Bar(volatile void* mmio, size_t bytes, FunctionLink* link = nullptr)
      : mmio_(static_cast<volatile uint8_t*>(mmio)), bytes_(bytes), link_(link) {}
  /// Creates the window of a model. The caller owns the queue and the context of `waiting`; both
  /// must outlive the Bar. Threads that wait for the model call `waiting`.
  Bar(PostedQueue* queue, size_t bytes, Waiting waiting = {})
      : queue_(queue), waiting_(waiting), bytes_(bytes) {}

  /// Posted stores of 4 and of 8 bytes. `offset` must be aligned to the size and less than
  /// `bytes()`. The device sees earlier stores to memory before the register store, and earlier
  /// loads are complete. Returns at once, unless a model's queue is full: then waits for up to
  /// PostedQueue::kTimeout; after that, the link goes down and stores are discarded.
  void Write32(uint32_t offset, uint32_t value) {
    if (mmio_ != nullptr) {
      RegisterFence();
      *reinterpret_cast<volatile uint32_t*>(mmio_ + offset) = value;
    } else {
      queue_->Post(offset, 4, value, waiting_);
    }
  }
  void Write64(uint32_t offset, uint64_t value) {
    if (mmio_ != nullptr) {
      RegisterFence();
      *reinterpret_cast<volatile uint64_t*>(mmio_ + offset) = value;
    } else {
      queue_->Post(offset, 8, value, waiting_);
    }
  }

  /// Non-posted reads. They block for a round trip, and later loads from memory are ordered after
  /// them. They return all ones if the link is down, like a PCIe completion timeout.
  uint32_t Read32(uint32_t offset) {
    if (mmio_ != nullptr) return ReadRegister<uint32_t>(offset);
    return static_cast<uint32_t>(queue_->Read({offset, 4, 0}, waiting_));
  }
  uint64_t Read64(uint32_t offset) {
    if (mmio_ != nullptr) return ReadRegister<uint64_t>(offset);
    return queue_->Read({offset, 8, 0}, waiting_);
  }

  /// Returns false once the device has stopped draining its window. Over PCI, the only sign of a
  /// lost device is a read of all ones: returns false once a second read has confirmed the loss.
  /// Without a FunctionLink, always returns true.
  bool LinkUp() const {
    if (queue_ != nullptr) return queue_->LinkUp();
    return link_ == nullptr || link_->up();
  }
  size_t bytes() const { return bytes_; }
  bool valid() const { return mmio_ != nullptr || queue_ != nullptr; }

 private:
  template <typename T>
  T ReadRegister(uint32_t offset) {
    const T value = *reinterpret_cast<volatile T*>(mmio_ + offset);
    RegisterReadFence();
    if (value == static_cast<T>(~T{0}) && link_ != nullptr) [[unlikely]]
      link_->Suspect(mmio_);
    return value;
  }

  volatile uint8_t* mmio_ = nullptr;
  PostedQueue* queue_ = nullptr;
  Waiting waiting_;
  size_t bytes_ = 0;
  FunctionLink* link_ = nullptr;
};

}  // namespace sluice::bar
