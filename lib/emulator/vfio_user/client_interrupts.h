// SPDX-License-Identifier: BSD-3-Clause
//
// The client's MSI-X vectors, each of which has an eventfd. A vector that is raised while the
// client has removed its eventfd (a masked vector) is pending and is signalled with the next
// eventfd. As on PCI, an interrupt does not overtake earlier writes. If writes are sent as
// messages, the interrupt is signalled when the client has answered all writes made before the
// interrupt was raised; it does not wait for later writes.
#pragma once

#include <linux/aio_abi.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "device/device.h"
#include "emulator/channel.h"
#include "emulator/vfio_user/message_dma.h"
#include "regs/vectors.h"

namespace sluice::emulator::vfio_user {

/// Signals eventfds of another process without blocking. The owner of an eventfd can make a write
/// to it block and can clear O_NONBLOCK at any time. The kernel is therefore made to do the write:
/// it increments an eventfd when an asynchronous read completes (IOCB_FLAG_RESFD, io_submit(2)) and
/// never waits for the eventfd. Used by one thread at a time.
class EventfdSignal {
 public:
  EventfdSignal();
  ~EventfdSignal();
  EventfdSignal(const EventfdSignal&) = delete;
  EventfdSignal& operator=(const EventfdSignal&) = delete;

  /// Returns false if asynchronous I/O (io_setup(2)) is unavailable; Send then has no effect.
  explicit operator bool() const { return context_ != 0 && nothing_; }
  /// Adds 1 to the eventfd. Returns false if that fails, for example because the file is not an
  /// eventfd. Never waits.
  bool Send(int eventfd);

 private:
  aio_context_t context_ = 0;
  base::OwnedFd nothing_;  ///< File from which zero bytes are read.
};

/// Raise may be called by any thread and waits only for a concurrent call. Other functions are
/// called by one thread.
class ClientInterrupts final : public device::InterruptSink {
 public:
  /// `messages` must outlive this object.
  explicit ClientInterrupts(const MessageDma& messages) : messages_(messages) {}

  void Raise(uint32_t vector) override;
  /// Called when writes have been answered or withdrawn. Signals the interrupts that were waiting
  /// for them.
  void WritesArrived();

  /// Assigns `files`, which must be eventfds, to vectors [start, start + files.size()). If one of
  /// them is not an eventfd, or if signals are unavailable, returns false and has no effect.
  bool Set(uint32_t start, std::vector<base::OwnedFd> files);
  /// Removes the eventfds of vectors [start, start + count).
  void Clear(uint32_t start, uint32_t count);
  /// Removes all eventfds and pending interrupts, because the client has disabled its interrupts.
  void Disable();
  /// Discards all interrupts that have been raised but not signalled. The eventfds remain.
  void Forget();
  /// Returns a bit mask of pending vectors; bit 0 is vector 0.
  uint64_t pending() const;

 private:
  static_assert(regs::kVectors <= 64);

  void Signal(uint32_t vector);

  const MessageDma& messages_;
  mutable std::mutex mutex_;  ///< Guards the following members.
  EventfdSignal signal_;
  bool enabled_ = false;  ///< True from the first call of Set until Disable.
  uint64_t pending_ = 0;
  /// For each raised and unsignalled vector, the write that it must follow; otherwise 0.
  std::array<uint64_t, regs::kVectors> awaited_{};
  std::array<base::OwnedFd, regs::kVectors> files_;
};

}  // namespace sluice::emulator::vfio_user
