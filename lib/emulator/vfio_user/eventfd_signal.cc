// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/vfio_user/eventfd_signal.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

namespace sluice::emulator::vfio_user {

EventfdSignal::EventfdSignal() : nothing_(open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  if (syscall(SYS_io_setup, 1, &context_) != 0) context_ = 0;
}

EventfdSignal::~EventfdSignal() {
  if (context_ != 0) syscall(SYS_io_destroy, context_);
}

bool EventfdSignal::Send(int eventfd) {
  if (!*this) return false;
  iocb input = {};
  input.aio_lio_opcode = IOCB_CMD_PREAD;
  input.aio_fildes = static_cast<uint32_t>(nothing_.fd());
  input.aio_flags = IOCB_FLAG_RESFD;
  input.aio_resfd = static_cast<uint32_t>(eventfd);
  iocb* inputs[] = {&input};
  if (syscall(SYS_io_submit, context_, 1, inputs) != 1) return false;
  // Reading zero bytes completes at once. Collecting its result frees the entry for the next
  // request.
  io_event ended;
  timespec at_once = {0, 0};
  syscall(SYS_io_getevents, context_, 0, 1, &ended, &at_once);
  return true;
}

}  // namespace sluice::emulator::vfio_user
