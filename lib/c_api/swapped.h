// SPDX-License-Identifier: BSD-3-Clause
//
// What workers read during their calls, and a control thread replaces while they work. No worker
// keeps it from one call to the next, so that it can be freed as soon as the calls that were under
// way have ended; a worker that makes no calls holds up nobody.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <utility>

#include "c_api/worker.h"

namespace sluice::c_api {

template <typename T>
class Swapped {
 public:
  explicit Swapped(std::unique_ptr<T> first) : current_(first.release()) {}
  /// No worker is there any more.
  ~Swapped() { delete current_.load(); }
  Swapped(const Swapped&) = delete;

  /// Workers read this in each of their calls.
  const std::atomic<T*>* pointer() const { return &current_; }
  /// The control thread's view.
  T& current() const { return *current_.load(std::memory_order_relaxed); }

  /// One control thread at a time. Returns what none of `workers` reads any more.
  std::unique_ptr<T> Replace(std::unique_ptr<T> next,
                             std::span<const std::unique_ptr<sluice_worker>> workers) {
    std::unique_ptr<T> old(current_.exchange(next.release(), std::memory_order_acq_rel));
    for (const auto& worker : workers) worker->AwaitEndOfCall();
    return old;
  }

 private:
  std::atomic<T*> current_;
};

}  // namespace sluice::c_api
