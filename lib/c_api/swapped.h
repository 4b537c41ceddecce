// SPDX-License-Identifier: BSD-3-Clause
//
// An object that workers read during their calls, and that a control thread replaces while they
// run. No worker keeps a reference between calls, so the old object can be freed as soon as the
// calls in progress have ended. A worker that makes no calls does not delay a replacement.
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
  /// All workers must have been destroyed.
  ~Swapped() { delete current_.load(); }
  Swapped(const Swapped&) = delete;

  /// Returns the pointer that workers load in each of their calls.
  const std::atomic<T*>* pointer() const { return &current_; }
  /// Returns the current object; for the control thread.
  T& current() const { return *current_.load(std::memory_order_relaxed); }

  /// Replaces the object and returns the old one once none of `workers` uses it. Only one control
  /// thread at a time may call it.
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
