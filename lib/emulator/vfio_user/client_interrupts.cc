// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/vfio_user/client_interrupts.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <utility>

namespace sluice::emulator::vfio_user {
namespace {

bool IsEventfd(const base::OwnedFd& file) {
  char path[64];
  std::array<char, 64> target;
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", file.fd());
  const ssize_t length = readlink(path, target.data(), target.size());
  return length > 0 &&
         std::string_view(target.data(), static_cast<size_t>(length)) == "anon_inode:[eventfd]";
}

}  // namespace

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
  // A read of zero bytes completes at once. Collecting its result frees the entry for the next
  // request.
  io_event ended;
  timespec at_once = {0, 0};
  syscall(SYS_io_getevents, context_, 0, 1, &ended, &at_once);
  return true;
}

void ClientInterrupts::Raise(uint32_t vector) {
  if (vector >= regs::kVectors) return;
  const std::scoped_lock lock(mutex_);
  awaited_[vector] = messages_.latest_write();
  // If a write is answered after this check, WritesArrived is called afterwards, and waits for the
  // mutex.
  if (messages_.HasArrived(awaited_[vector])) Signal(vector);
}

void ClientInterrupts::WritesArrived() {
  const std::scoped_lock lock(mutex_);
  for (uint32_t vector = 0; vector < awaited_.size(); ++vector) {
    if (awaited_[vector] != 0 && messages_.HasArrived(awaited_[vector])) Signal(vector);
  }
}

void ClientInterrupts::Signal(uint32_t vector) {
  awaited_[vector] = 0;
  if (files_[vector]) {
    signal_.Send(files_[vector].fd());
  } else if (enabled_) {
    pending_ |= uint64_t{1} << vector;
  }
}

bool ClientInterrupts::Set(uint32_t start, std::vector<base::OwnedFd> files) {
  if (!signal_ || !std::ranges::all_of(files, IsEventfd)) return false;
  const std::scoped_lock lock(mutex_);
  enabled_ = true;
  for (uint32_t i = 0; i < files.size(); ++i) {
    const uint64_t bit = uint64_t{1} << (start + i);
    files_[start + i] = std::move(files[i]);
    if ((pending_ & bit) != 0) signal_.Send(files_[start + i].fd());
    pending_ &= ~bit;
  }
  return true;
}

void ClientInterrupts::Clear(uint32_t start, uint32_t count) {
  const std::scoped_lock lock(mutex_);
  for (uint32_t i = start; i < start + count; ++i) files_[i] = base::OwnedFd();
}

void ClientInterrupts::Disable() {
  const std::scoped_lock lock(mutex_);
  for (base::OwnedFd& file : files_) file = base::OwnedFd();
  enabled_ = false;
  pending_ = 0;
  awaited_.fill(0);
}

void ClientInterrupts::Forget() {
  const std::scoped_lock lock(mutex_);
  pending_ = 0;
  awaited_.fill(0);
}

uint64_t ClientInterrupts::pending() const {
  const std::scoped_lock lock(mutex_);
  return pending_;
}

}  // namespace sluice::emulator::vfio_user
