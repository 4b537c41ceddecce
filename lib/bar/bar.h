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
#include "bar/function_link.h"
#include "bar/posted_queue.h"

namespace sluice::bar {

/// Register access. Copies refer to the same window. Every method may be called
/// from any thread; stores of one thread reach the device in program order, a
/// read of a thread travels behind that thread's stores (PCIe ordering), and
/// threads are not ordered among themselves.
class Bar {
 public:
  Bar() = default;
  /// A mapped BAR of `bytes`. The mapping stays the caller's, as does `link`, if there is one: it
  /// outlives the Bar.
  Bar(volatile void* mmio, size_t bytes, FunctionLink* link = nullptr)
      : mmio_(static_cast<volatile uint8_t*>(mmio)), bytes_(bytes), link_(link) {}
  /// A model's window. The queue stays the caller's and outlives the Bar, as does the context of
  /// `waiting`, which is called by threads that wait for the model.
  Bar(PostedQueue* queue, size_t bytes, Waiting waiting = {})
      : queue_(queue), waiting_(waiting), bytes_(bytes) {}

  /// Posted stores of 4 and of 8 bytes; `offset` is aligned to the size and lies
  /// below `bytes()`. Prior stores to memory are visible to the device before the
  /// register store is, and prior loads are answered. Returns at once; a model whose queue
  /// stays full for PostedQueue::kTimeout takes the link down and stores are discarded.
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

  /// Non-posted reads: block for a round trip, and memory is looked at after it. All ones if the
  /// link is down, as a PCIe completion timeout reads.
  uint32_t Read32(uint32_t offset) {
    if (mmio_ != nullptr) return ReadRegister<uint32_t>(offset);
    return static_cast<uint32_t>(queue_->Read({offset, 4, 0}, waiting_));
  }
  uint64_t Read64(uint32_t offset) {
    if (mmio_ != nullptr) return ReadRegister<uint64_t>(offset);
    return queue_->Read({offset, 8, 0}, waiting_);
  }

  /// False once the device stopped draining its window. On PCI, where a read of all ones is the
  /// only sign, once such a read was seen; always true without a FunctionLink.
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
