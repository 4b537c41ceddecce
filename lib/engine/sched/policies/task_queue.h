// SPDX-License-Identifier: BSD-3-Clause
//
// A doubly linked queue of tasks, from which any task can be removed in constant time.
#pragma once

#include <cstdint>

#include "engine/sched/policy.h"

namespace sluice::engine::sched {

/// A first-come, first-served queue. A task is in one queue at a time.
class TaskQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  uint32_t size() const { return size_; }
  AgentTask* head() const { return head_; }

  void Push(AgentTask& task, Place place) {
    task.previous = place == Place::kFront ? nullptr : tail_;
    task.next = place == Place::kFront ? head_ : nullptr;
    (task.previous == nullptr ? head_ : task.previous->next) = &task;
    (task.next == nullptr ? tail_ : task.next->previous) = &task;
    task.queued = true;
    ++size_;
  }

  void Remove(AgentTask& task) {
    (task.previous == nullptr ? head_ : task.previous->next) = task.next;
    (task.next == nullptr ? tail_ : task.next->previous) = task.previous;
    task.next = task.previous = nullptr;
    task.queued = false;
    --size_;
  }

  /// Returns the first task that may run on `cpu` without removing it, or null.
  AgentTask* FirstFor(CpuId cpu) const {
    AgentTask* task = head_;
    while (task != nullptr && (task->affinity & MaskOf(cpu)) == 0) task = task->next;
    return task;
  }

  /// Like FirstFor, but removes the task.
  AgentTask* PopFor(CpuId cpu) {
    AgentTask* const task = FirstFor(cpu);
    if (task != nullptr) Remove(*task);
    return task;
  }

 private:
  AgentTask* head_ = nullptr;
  AgentTask* tail_ = nullptr;
  uint32_t size_ = 0;
};

}  // namespace sluice::engine::sched
