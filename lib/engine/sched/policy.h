// SPDX-License-Identifier: BSD-3-Clause
//
// The interface of a scheduling policy: a class in a single file, with the five members of the
// concept Policy. It manages queues of runnable tasks and selects the next task. The agent
// (agent.h) handles the host's state, pending decisions and stale information.
#pragma once

#include <concepts>
#include <cstdint>

#include "engine/sched/abi.h"

namespace sluice::engine::sched {

/// A task as the agent knows it, with data of the policy. The agent owns the task; its address is
/// stable while the task exists.
struct AgentTask {
  Gtid gtid = kNoTask;
  uint32_t seqnum = 0;  ///< The newest seqnum from a message or an outcome.
  uint8_t task_class = 0;
  uint16_t group = 0;
  CpuId cpu = 0;  ///< CPU on which the task last ran; one of the agent's CPUs.
  CpuMask affinity = 0;
  Nanoseconds runtime = 0;  ///< Last value reported by the host.
  /// Time of the agent's clock when the task was created, last woken, or last yielded. A preemption
  /// does not change it.
  Nanoseconds runnable_since = 0;
  bool deferrable = false;  ///< Whether the last wake-up was marked deferrable.

  // Owned by the policy from Enqueue until Next or Remove:
  AgentTask* next = nullptr;
  AgentTask* previous = nullptr;
  uint32_t queue = 0;
  bool queued = false;
  // Owned by the policy as long as the task is known; 0 for a new task.
  uint64_t key = 0;
};

/// Reason why a runnable task is queued; it determines the position.
enum class Place : uint8_t {
  kBack,       ///< Tail: the task is new, woken, yielded, or changed its class.
  kPreempted,  ///< The task was preempted because its slice ended or because of a more urgent task.
               ///< Most policies queue it at the tail.
  /// Head: the task keeps its position, e.g. because it was refused, recalled or boosted.
  kFront,
};

/// The task on a CPU, as far as the agent knows.
struct Running {
  CpuId cpu = 0;
  const AgentTask* task = nullptr;  ///< Null: idle.
  Nanoseconds since = 0;            ///< Start on the agent's clock.
};

/// Number of classes that policies distinguish; higher classes count as the last one.
inline constexpr uint8_t kTaskClasses = 8;
inline uint8_t ClassOf(const AgentTask& task) {
  return task.task_class < kTaskClasses ? task.task_class : kTaskClasses - 1;
}

/// Options for a policy that is chosen by name.
struct PolicyOptions {
  CpuId cpus = 1;         ///< 1 … kMaxCpus.
  Nanoseconds slice = 0;  ///< Slice or quantum, if the policy has one. 0: the policy's default.

  Nanoseconds SliceOr(Nanoseconds own) const { return slice != 0 ? slice : own; }
};

/// A scheduling policy. The agent calls Preempts only for CPUs on which a task runs. If Preempts
/// returns true and Next returns no task, the current task is removed from the CPU and the CPU
/// stays idle.
template <typename P>
concept Policy = requires(P policy, AgentTask& task, const Running& running, CpuId cpu,
                          Nanoseconds now) {
  /// Queues a task. The task is runnable and not in any queue.
  {policy.Enqueue(task, Place::kBack, now)};
  /// Removes a task from its queue. The task is in a queue.
  {policy.Remove(task)};
  /// Removes the task that should run next on `cpu` from its queue and returns it; null if no task
  /// may run.
  { policy.Next(cpu, now) } -> std::same_as<AgentTask*>;
  /// Returns whether the running task should yield to a waiting one, which Next then returns.
  { policy.Preempts(running, now) } -> std::same_as<bool>;
  /// Returns whether a waiting task should replace `task`, which Next returned for `cpu` but which
  /// has not started there yet.
  { policy.Supersedes(task, cpu, now) } -> std::same_as<bool>;
};

// Optional members of a policy.

/// A policy whose waiting tasks are not bound to one CPU.
template <typename P>
concept SharesTasks = requires(const P policy, const AgentTask& task, CpuId cpu) {
  /// Returns whether Next(cpu) could return `task` if it were waiting. If an idle CPU finds no
  /// task, the agent recalls a task that was prestaged for a busy CPU and that the idle CPU serves.
  /// Without this member, the agent never recalls such a task.
  { policy.Serves(task, cpu) } -> std::same_as<bool>;
};

/// A preemptive policy that also compares the running task with a prestaged task, which is not in
/// any queue.
template <typename P>
concept PreemptsForOne = requires(P policy, const AgentTask& task, const Running& running,
                                  Nanoseconds now) {
  /// Returns whether the running task should yield to `task` if `task` were waiting.
  { policy.PreemptsFor(running, task, now) } -> std::same_as<bool>;
};

/// A policy that tracks which tasks are on a CPU or committed to it.
template <typename P>
concept WatchesCpus = requires(P policy, AgentTask& task, CpuId cpu, Nanoseconds now) {
  /// Reports that Next returned the task for `cpu`, or that a message reported the task on it. The
  /// task is not on any other CPU.
  {policy.Entered(task, cpu, now)};
  /// Reports that the task is no longer on the CPU or committed to it. Called once for each call to
  /// Entered.
  {policy.Left(task, cpu, now)};
};

}  // namespace sluice::engine::sched
