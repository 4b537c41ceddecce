// SPDX-License-Identifier: BSD-3-Clause
//
// Signals eventfds of another process without blocking. The owner of an eventfd can make a write to
// it block and can clear O_NONBLOCK at any time. The kernel therefore does the write: it increments
// an eventfd when an asynchronous read completes (IOCB_FLAG_RESFD, io_submit(2)) and never waits
// for the eventfd.
#pragma once

#include <linux/aio_abi.h>

#include "emulator/channel.h"

namespace sluice::emulator::vfio_user {

/// Signals eventfds; never blocks. Used by one thread at a time.
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

}  // namespace sluice::emulator::vfio_user
