// SPDX-License-Identifier: BSD-3-Clause
//
// What a scheduling policy is: one file, one class with these five members. It keeps queues of
// tasks that can run and answers who should. What the host knows, what is under way to it, and
// what may have become stale is the agent's care (agent.h), not the policy's.
#pragma once

#include <concepts>
#include <cstdint>

#include "engine/sched/abi.h"

namespace sluice::engine::sched {

/// A task as an agent knows it, and what its policy notes about it. The agent owns it; its
/// address stays as long as the task lives.
struct AgentTask {
  Gtid gtid = kNoTask;
  uint32_t seqnum = 0;  ///< The newest of it that a message or an outcome told.
  uint8_t task_class = 0;
  uint16_t group = 0;
  CpuId cpu = 0;  ///< Where it last was; of the agent's CPUs.
  CpuMask affinity = 0;
  Nanoseconds runtime = 0;  ///< As the host last said.
  /// The agent's clock when it was last new, woken, or had yielded; a preemption leaves it.
  Nanoseconds runnable_since = 0;
  bool deferrable = false;  ///< Its last wake-up said that it does not mind to wait.

  // The policy's, from Enqueue until Next or Remove:
  AgentTask* next = nullptr;
  AgentTask* previous = nullptr;
  uint32_t queue = 0;
  bool queued = false;
  // The policy's as long as the task is known; 0 when it is new.
  uint64_t key = 0;
};

/// Where a task that can run is put.
enum class Place : uint8_t {
  kBack,       ///< New, woken, or it yielded.
  kPreempted,  ///< Its slice is over, or another was more urgent: the back, for most policies.
  kFront,      ///< It lost its place through no fault of its own: refused, recalled, boosted.
};

/// What runs on a CPU, as far as the agent knows.
struct Running {
  CpuId cpu = 0;
  const AgentTask* task = nullptr;  ///< Null: idle.
  Nanoseconds since = 0;            ///< The agent's clock.
};

/// Classes that policies tell apart; a task of a higher one counts as of the last.
inline constexpr uint8_t kTaskClasses = 8;
inline uint8_t ClassOf(const AgentTask& task) {
  return task.task_class < kTaskClasses ? task.task_class : kTaskClasses - 1;
}

/// What whoever chooses a policy by name may say besides.
struct PolicyOptions {
  CpuId cpus = 1;         ///< 1 … kMaxCpus.
  Nanoseconds slice = 0;  ///< Slice or quantum, where there is one. 0: the policy's own.

  Nanoseconds SliceOr(Nanoseconds own) const { return slice != 0 ? slice : own; }
};

/// The agent calls Preempts only for CPUs on which a task runs. Where it is true and Next names
/// nobody, the CPU is taken from who has it and left alone.
template <typename P>
concept Policy = requires(P policy, AgentTask& task, const Running& running, CpuId cpu,
                          Nanoseconds now) {
  /// The task can run, and is in no queue.
  {policy.Enqueue(task, Place::kBack, now)};
  /// It is to be in no queue any more; it is in one.
  {policy.Remove(task)};
  /// Takes who should run next on `cpu`, and may, off its queue. Null: nobody.
  { policy.Next(cpu, now) } -> std::same_as<AgentTask*>;
  /// Whether what runs should make way for somebody who waits: then Next names whom.
  { policy.Preempts(running, now) } -> std::same_as<bool>;
  /// Whether somebody who waits should have the place of `staged`, who was taken by Next for
  /// `cpu` and is not there yet.
  { policy.Supersedes(task, cpu, now) } -> std::same_as<bool>;
};

// What a policy may have besides.

/// A policy that any CPU asks for the same tasks.
template <typename P>
concept SharesTasks = requires(const P policy, const AgentTask& task, CpuId cpu) {
  /// Whether Next(cpu) could name `task` if it waited. An idle CPU that finds nobody then gets a
  /// task that was decided beforehand for a CPU that still runs another. Without it: never.
  { policy.Serves(task, cpu) } -> std::same_as<bool>;
};

/// A policy that preempts. Whom it decided for beforehand waits, too, and is in no queue.
template <typename P>
concept PreemptsForOne = requires(P policy, const AgentTask& task, const Running& running,
                                  Nanoseconds now) {
  /// Whether what runs should make way for `task` if that waited.
  { policy.PreemptsFor(running, task, now) } -> std::same_as<bool>;
};

/// A policy that asks who is on which CPU, or on the way there.
template <typename P>
concept WatchesCpus = requires(P policy, AgentTask& task, CpuId cpu, Nanoseconds now) {
  /// The task was named by Next for `cpu`, or was found there. It is on no other CPU.
  {policy.Entered(task, cpu, now)};
  /// It is no longer there, nor on the way. Once for each Entered.
  {policy.Left(task, cpu, now)};
};

}  // namespace sluice::engine::sched
