// SPDX-License-Identifier: BSD-3-Clause
//
// Shinjuku (NSDI'19) in ghOSt's version: a queue for each QoS class. The most urgent class is
// first; within a class, first come, first served. A task does not keep a CPU for longer than a
// slice while another task of its class waits. With an endless slice, one class and no deferrable
// tasks, this policy equals the central FIFO.
//
// Classes are strict: while an urgent class has work for all CPUs, the others starve.
//
// ghOSt's flag with which a task reports that it could be unscheduled corresponds to a deferrable
// wake-up here. ghOSt also puts other wake-ups at the front of the queue; this policy does not,
// because that would reverse the order of requests.
#pragma once

#include <array>
#include <string_view>

#include "engine/sched/policies/task_queue.h"
#include "engine/sched/policy.h"

namespace sluice::engine::sched {

class Shinjuku {
 public:
  static constexpr std::string_view kName = "shinjuku";
  static constexpr Nanoseconds kSlice = 30'000;  ///< The value of ghOSt's experiment.
  static constexpr Nanoseconds kEndless = ~Nanoseconds{0};

  static Shinjuku Make(const PolicyOptions& options) { return Shinjuku(options.SliceOr(kSlice)); }

  explicit Shinjuku(Nanoseconds slice = kSlice) : slice_(slice) {}

  void Enqueue(AgentTask& task, Place place, Nanoseconds) {
    task.queue = ClassOf(task);
    queues_[task.queue].Push(task, place);
  }
  void Remove(AgentTask& task) { queues_[task.queue].Remove(task); }
  AgentTask* Next(CpuId cpu, Nanoseconds) {
    AgentTask* const task = First(cpu);
    if (task != nullptr) Remove(*task);
    return task;
  }
  bool Preempts(const Running& running, Nanoseconds now) const {
    const AgentTask* const first = First(running.cpu);
    return first != nullptr && PreemptsFor(running, *first, now);
  }
  /// Returns true if (a) the class of `task` is more urgent than that of the running task; or (b)
  /// both classes are the same and the slice is over; or (c) both classes are the same, the running
  /// task is deferrable, and `task` is not.
  bool PreemptsFor(const Running& running, const AgentTask& task, Nanoseconds now) const {
    const uint8_t runs = ClassOf(*running.task);
    if (ClassOf(task) != runs) return ClassOf(task) < runs;
    return now - running.since >= slice_ || (running.task->deferrable && !task.deferrable);
  }
  bool Supersedes(const AgentTask& staged, CpuId cpu, Nanoseconds) const {
    const AgentTask* const first = First(cpu);
    return first != nullptr && ClassOf(*first) < ClassOf(staged);
  }
  bool Serves(const AgentTask& task, CpuId cpu) const { return task.affinity & MaskOf(cpu); }

 private:
  AgentTask* First(CpuId cpu) const {
    for (const TaskQueue& queue : queues_) {
      if (AgentTask* const task = queue.FirstFor(cpu); task != nullptr) return task;
    }
    return nullptr;
  }

  Nanoseconds slice_;
  std::array<TaskQueue, kTaskClasses> queues_;
};

}  // namespace sluice::engine::sched
