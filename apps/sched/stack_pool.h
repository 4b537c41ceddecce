// SPDX-License-Identifier: BSD-3-Clause
//
// Stacks of coroutines: one mapping for all, so that nobody allocates one when a request comes.
// Pages that no task has touched take no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::sched {

class StackPool {
 public:
  /// `count` stacks of `bytes` each, rounded up to whole pages. Below each lies a page that
  /// nobody may touch: a stack that is too small ends the process instead of its neighbour.
  /// Throws std::system_error.
  StackPool(uint32_t count, size_t bytes);
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  uint32_t count() const { return count_; }
  /// The i-th, without its guard.
  std::span<std::byte> stack(uint32_t i) const {
    return {memory_ + size_t{i} * (guard_bytes_ + stack_bytes_) + guard_bytes_, stack_bytes_};
  }

 private:
  uint32_t count_;
  size_t guard_bytes_;
  size_t stack_bytes_;
  std::byte* memory_ = nullptr;
};

}  // namespace sluice::sched
