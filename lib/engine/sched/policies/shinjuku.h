// SPDX-License-Identifier: BSD-3-Clause
//
// Shinjuku (NSDI'19) in ghOSt's version: a queue for each QoS class, the most urgent class first,
// first come, first served within it, and nobody keeps a CPU for longer than a slice while another
// of the class waits. With an endless slice and one class it is the central FIFO.
//
// Classes are strict: as long as an urgent one has work for all CPUs, the others starve.
//
// ghOSt's task that says that it could be unscheduled is one whose wake-up was deferrable. That a
// wake-up which is not goes to the front, as in ghOSt, would turn the order of requests round: it
// does not here.
#pragma once

#include <array>
#include <string_view>

#include "engine/sched/policies/task_queue.h"
#include "engine/sched/policy.h"

namespace sluice::engine::sched {

class Shinjuku {
 public:
  static constexpr std::string_view kName = "shinjuku";
  static constexpr Nanoseconds kSlice = 30'000;  ///< That of ghOSt's experiment.
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
  /// (a) it is of a higher class; (b) of the same, and the slice is over; (c) of the same, and who
  /// runs does not mind to wait, but it does.
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
