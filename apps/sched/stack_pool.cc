// SPDX-License-Identifier: BSD-3-Clause
#include "stack_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace sluice::sched {

StackPool::StackPool(uint32_t count, size_t bytes)
    : count_(count), guard_bytes_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
  stack_bytes_ = (bytes + guard_bytes_ - 1) / guard_bytes_ * guard_bytes_;
  const size_t all = count * (guard_bytes_ + stack_bytes_);
  void* const memory =
      mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "stacks");
  memory_ = static_cast<std::byte*>(memory);
  for (uint32_t i = 0; i < count; ++i) {
    const std::span<std::byte> own = stack(i);
    if (mprotect(own.data(), own.size(), PROT_READ | PROT_WRITE) == 0) continue;
    const int error = errno;
    munmap(memory_, all);
    throw std::system_error(error, std::generic_category(), "stacks");
  }
}

StackPool::~StackPool() {
  const size_t all = count_ * (guard_bytes_ + stack_bytes_);
#ifdef __SANITIZE_ADDRESS__
  // The next user of this memory must not inherit the poisoned frames of abandoned coroutines.
  __asan_unpoison_memory_region(memory_, all);
#endif
  munmap(memory_, all);
}

}  // namespace sluice::sched
