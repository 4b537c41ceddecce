// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/interrupt_files.h"

#include <sys/eventfd.h>

#include <cerrno>

namespace sluice::emulator {

static_assert(regs::kVectors <= 32);

int InterruptFiles::Open(uint32_t vector) {
  if (vector >= regs::kVectors) {
    errno = EINVAL;
    return -1;
  }
  const std::scoped_lock lock(mutex_);
  if (!files_[vector]) {
    files_[vector] = base::OwnedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!files_[vector]) return -1;
    // Release: a thread that sees the bit also sees the file.
    open_.fetch_or(1u << vector, std::memory_order_release);
  }
  return files_[vector].fd();
}

void InterruptFiles::Raise(uint32_t vector) {
  if (vector >= regs::kVectors) return;
  if ((open_.load(std::memory_order_acquire) >> vector & 1) == 0) return;
  eventfd_write(files_[vector].fd(), 1);
}

}  // namespace sluice::emulator
