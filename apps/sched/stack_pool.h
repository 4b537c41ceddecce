// SPDX-License-Identifier: BSD-3-Clause
//
// Coroutine stacks in a single mapping, so that requests do not allocate memory. Pages that no task
// has touched do not use memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::sched {

class StackPool {
 public:
  /// Allocates `count` stacks of `bytes` bytes each, rounded up to whole pages. A guard page
  /// precedes each stack, so that an overflow ends the process instead of corrupting the
  /// neighboring stack. Throws std::system_error.
  StackPool(uint32_t count, size_t bytes);
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  uint32_t count() const { return count_; }
  /// Returns the i-th stack, without its guard page.
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
