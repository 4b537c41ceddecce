// SPDX-License-Identifier: BSD-3-Clause
//
// Serializes the workers' access to the shared kernel. Critical sections are a few hundred
// nanoseconds long, so waiting workers spin.
#pragma once

#include <rte_pause.h>

#include <atomic>

namespace sluice::sched {

class Lock {
 public:
  /// If `needed` is false (a single worker), the cost is one branch.
  explicit Lock(bool needed) : needed_(needed) {}

  void lock() {
    if (!needed_) return;
    while (taken_.exchange(true, std::memory_order_acquire)) {
      while (taken_.load(std::memory_order_relaxed)) rte_pause();
    }
  }
  void unlock() {
    if (needed_) taken_.store(false, std::memory_order_release);
  }

 private:
  const bool needed_;
  alignas(64) std::atomic<bool> taken_{false};
};

}  // namespace sluice::sched
