// SPDX-License-Identifier: BSD-3-Clause
#include "process_page.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace sluice::rpc_app {

void WaitWhile(uint32_t& word, uint32_t value, uint64_t patience_ns) {
  const timespec patience{static_cast<time_t>(patience_ns / 1'000'000'000),
                          static_cast<long>(patience_ns % 1'000'000'000)};
  if (LoadWord(word) == value) {
    syscall(SYS_futex, &word, FUTEX_WAIT, value, &patience, nullptr, 0);
  }
}

void StoreAndWake(uint32_t& word, uint32_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace sluice::rpc_app
