// SPDX-License-Identifier: BSD-3-Clause
//
// Counts the instructions of one thread, if the kernel and the machine support this.
#pragma once

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

#include "base/owned_fd.h"

namespace sluice::chain_app {

class Instructions {
 public:
  /// Starts counting, in user mode, for the thread `tid`.
  explicit Instructions(pid_t tid) {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof attributes;
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    counter_ =
        base::OwnedFd(static_cast<int>(syscall(SYS_perf_event_open, &attributes, tid, -1, -1, 0)));
  }
  /// Returns nullopt if the machine cannot count instructions or the kernel does not permit it.
  std::optional<uint64_t> Count() const {
    uint64_t count = 0;
    if (!counter_ || read(counter_.fd(), &count, sizeof count) != sizeof count) return std::nullopt;
    return count;
  }

 private:
  base::OwnedFd counter_;
};

}  // namespace sluice::chain_app
