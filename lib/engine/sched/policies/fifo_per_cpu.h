// SPDX-License-Identifier: BSD-3-Clause
//
// One queue per CPU, first come, first served; tasks run until they block. This is ghOSt's per-CPU
// FIFO policy: a new task is assigned to a CPU round robin, and stays there as long as its affinity
// allows.
#pragma once

#include <bit>
#include <string_view>
#include <vector>

#include "engine/sched/policies/task_queue.h"
#include "engine/sched/policy.h"

namespace sluice::engine::sched {

class FifoPerCpu {
 public:
  static constexpr std::string_view kName = "fifo_per_cpu";

  static FifoPerCpu Make(const PolicyOptions& options) { return FifoPerCpu(options.cpus); }

  /// `cpus` is 1 … kMaxCpus.
  explicit FifoPerCpu(CpuId cpus)
      : queues_(cpus),
        all_(~CpuMask{0} >> (kMaxCpus - cpus)),
        last_(static_cast<CpuId>(cpus - 1)) {}

  void Enqueue(AgentTask& task, Place place, Nanoseconds) {
    // The key is the home CPU plus 1.
    if (task.key == 0 || (task.affinity & MaskOf(HomeOf(task))) == 0) task.key = Turn(task) + 1u;
    task.queue = HomeOf(task);
    queues_[task.queue].Push(task, place);
  }
  void Remove(AgentTask& task) { queues_[task.queue].Remove(task); }
  AgentTask* Next(CpuId cpu, Nanoseconds) { return queues_[cpu].PopFor(cpu); }
  bool Preempts(const Running&, Nanoseconds) const { return false; }
  bool Supersedes(const AgentTask&, CpuId, Nanoseconds) const { return false; }

 private:
  static CpuId HomeOf(const AgentTask& task) { return static_cast<CpuId>(task.key - 1); }

  /// Returns the next CPU, in round-robin order, on which `task` may run. If the task's affinity
  /// contains no CPU, returns the previously assigned CPU.
  CpuId Turn(const AgentTask& task) {
    const CpuMask may = task.affinity & all_;
    const CpuMask later = may & ~(MaskOf(last_) | (MaskOf(last_) - 1));
    const CpuMask from = later != 0 ? later : may;
    if (from != 0) last_ = static_cast<CpuId>(std::countr_zero(from));
    return last_;
  }

  std::vector<TaskQueue> queues_;
  CpuMask all_;
  CpuId last_;  ///< CPU to which the last task was assigned.
};

}  // namespace sluice::engine::sched
