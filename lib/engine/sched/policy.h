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
  uint32_t seqnum = 0;          ///< Of the newest message about it.
  uint8_t task_class = 0;
  uint16_t group = 0;
  CpuId cpu = 0;                ///< Where it last was.
  CpuMask affinity = 0;
  Nanoseconds runtime = 0;      ///< As the host last said.
  Nanoseconds runnable_since = 0;  ///< The agent's clock.

  // The policy's, from Enqueue until Next or Remove:
  AgentTask* next = nullptr;
  AgentTask* previous = nullptr;
  uint32_t queue = 0;
  bool queued = false;
  uint64_t key = 0;
};

/// Where a task that can run is put.
enum class Place : uint8_t {
  kBack,   ///< New, woken, or its slice is over.
  kFront,  ///< It lost its place through no fault of its own: refused, recalled, boosted.
};

/// What runs on a CPU, as far as the agent knows.
struct Running {
  CpuId cpu = 0;
  const AgentTask* task = nullptr;  ///< Null: idle.
  Nanoseconds since = 0;
};

template <typename P>
concept Policy = requires(P policy, AgentTask& task, const Running& running, CpuId cpu,
                          Nanoseconds now) {
  /// The task can run, and is in no queue.
  { policy.Enqueue(task, Place::kBack, now) };
  /// It is to be in no queue any more; it is in one.
  { policy.Remove(task) };
  /// Takes who should run next on `cpu`, and may, off its queue. Null: nobody.
  { policy.Next(cpu, now) } -> std::same_as<AgentTask*>;
  /// Whether what runs should make way for somebody who waits: then Next names whom.
  { policy.Preempts(running, now) } -> std::same_as<bool>;
  /// Whether somebody who waits should have the place of `staged`, who was taken by Next for
  /// `cpu` and is not there yet.
  { policy.Supersedes(task, cpu, now) } -> std::same_as<bool>;
};

}  // namespace sluice::engine::sched
