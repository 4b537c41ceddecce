// SPDX-License-Identifier: BSD-3-Clause
//
// Shinjuku (NSDI'19) as published: a class is a type of request with a latency target, and has a
// queue. The next task is the queue head that has waited for the largest fraction of its target. A
// task that has run for a quantum yields if any task waits. A class does not starve while the waits
// of more urgent classes are bounded: a head with target s that has waited for w is overtaken only
// by a task with target t that has waited for more than w·t/s.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/sched/policies/task_queue.h"
#include "engine/sched/policy.h"

namespace sluice::engine::sched {

struct MultiQueueOptions {
  /// Target per class, above 0. By default, each is ten times the previous one.
  std::array<Nanoseconds, kTaskClasses> slo{10'000,         100'000,        1'000'000,
                                            10'000'000,     100'000'000,    1'000'000'000,
                                            10'000'000'000, 100'000'000'000};
  Nanoseconds quantum = 5'000;  ///< The paper's value.
  /// A preempted task goes to the head of its queue instead of the tail. Suitable if all requests
  /// are of one type and rare long requests should finish.
  bool preempted_to_head = false;
};

class MultiQueue {
 public:
  static constexpr std::string_view kName = "multi_queue";

  static MultiQueue Make(const PolicyOptions& options) {
    return MultiQueue({.quantum = options.SliceOr(MultiQueueOptions{}.quantum)});
  }

  explicit MultiQueue(const MultiQueueOptions& options = {}) : options_(options) {}

  void Enqueue(AgentTask& task, Place place, Nanoseconds) {
    if (place == Place::kPreempted && options_.preempted_to_head) place = Place::kFront;
    task.queue = ClassOf(task);
    queues_[task.queue].Push(task, place);
  }
  void Remove(AgentTask& task) { queues_[task.queue].Remove(task); }
  AgentTask* Next(CpuId cpu, Nanoseconds now) {
    AgentTask* const task = Best(cpu, now);
    if (task != nullptr) Remove(*task);
    return task;
  }
  bool Preempts(const Running& running, Nanoseconds now) const {
    if (now - running.since < options_.quantum) return false;
    return std::ranges::any_of(
        queues_, [&](const TaskQueue& queue) { return queue.FirstFor(running.cpu) != nullptr; });
  }
  bool PreemptsFor(const Running& running, const AgentTask&, Nanoseconds now) const {
    return now - running.since >= options_.quantum;
  }
  bool Supersedes(const AgentTask& staged, CpuId cpu, Nanoseconds now) const {
    const AgentTask* const best = Best(cpu, now);
    return best != nullptr && Before(*best, staged, now);
  }
  bool Serves(const AgentTask& task, CpuId cpu) const { return task.affinity & MaskOf(cpu); }

 private:
  /// Returns the queue head for `cpu` that has waited for the largest fraction of its target; on a
  /// tie, the head of the more urgent class.
  AgentTask* Best(CpuId cpu, Nanoseconds now) const {
    AgentTask* best = nullptr;
    for (const TaskQueue& queue : queues_) {
      AgentTask* const head = queue.FirstFor(cpu);
      if (head != nullptr && (best == nullptr || Before(*head, *best, now))) best = head;
    }
    return best;
  }

  /// Returns whether waited(a) / slo(a) > waited(b) / slo(b).
  bool Before(const AgentTask& a, const AgentTask& b, Nanoseconds now) const {
    using Wide = unsigned __int128;
    return Wide{now - a.runnable_since} * options_.slo[ClassOf(b)] >
           Wide{now - b.runnable_since} * options_.slo[ClassOf(a)];
  }

  MultiQueueOptions options_;
  std::array<TaskQueue, kTaskClasses> queues_;
};

}  // namespace sluice::engine::sched
