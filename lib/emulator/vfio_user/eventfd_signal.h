// SPDX-License-Identifier: BSD-3-Clause
//
// Writes to eventfds of another process. Whoever has such a file can make a write to it block, and
// switch O_NONBLOCK off again at any time; so the write is left to the kernel, which counts an
// eventfd up when asynchronous input ends (IOCB_FLAG_RESFD, io_submit(2)) and never waits for it.
#pragma once

#include <linux/aio_abi.h>

#include "emulator/channel.h"

namespace sluice::emulator::vfio_user {

/// Used by one thread at a time.
class EventfdSignal {
 public:
  EventfdSignal();
  ~EventfdSignal();
  EventfdSignal(const EventfdSignal&) = delete;
  EventfdSignal& operator=(const EventfdSignal&) = delete;

  /// False if the system gives this process no asynchronous input; Send does nothing then.
  explicit operator bool() const { return context_ != 0 && nothing_; }
  /// Adds 1 to the eventfd. False if it is none. Never waits.
  bool Send(int eventfd);

 private:
  aio_context_t context_ = 0;
  File nothing_;  ///< What is read, with no bytes.
};

}  // namespace sluice::emulator::vfio_user
