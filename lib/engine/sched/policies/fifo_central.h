// SPDX-License-Identifier: BSD-3-Clause
//
// One queue for all CPUs, first come, first served; tasks run until they block. This is ghOSt's
// centralised FIFO policy, which Wave's measurements use.
#pragma once

#include <string_view>

#include "engine/sched/policies/task_queue.h"
#include "engine/sched/policy.h"

namespace sluice::engine::sched {

class FifoCentral {
 public:
  static constexpr std::string_view kName = "fifo_central";

  static FifoCentral Make(const PolicyOptions&) { return FifoCentral(); }

  void Enqueue(AgentTask& task, Place place, Nanoseconds) { queue_.Push(task, place); }
  void Remove(AgentTask& task) { queue_.Remove(task); }
  AgentTask* Next(CpuId cpu, Nanoseconds) { return queue_.PopFor(cpu); }
  bool Preempts(const Running&, Nanoseconds) const { return false; }
  bool Supersedes(const AgentTask&, CpuId, Nanoseconds) const { return false; }
  bool Serves(const AgentTask& task, CpuId cpu) const { return task.affinity & MaskOf(cpu); }

 private:
  TaskQueue queue_;
};

}  // namespace sluice::engine::sched
