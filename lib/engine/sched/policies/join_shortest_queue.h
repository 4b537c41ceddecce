// SPDX-License-Identifier: BSD-3-Clause
//
// Steers RPCs to cores: a request joins the shortest queue among its allowed CPUs and stays in it.
// The length includes tasks on the CPU or committed to it. Ties are broken round robin, starting at
// CPU 0. Within a queue, the most urgent class is first; within a class, the oldest request. The
// queue is chosen at arrival, so that the request's data can be placed into that core's cache.
// Therefore only a CPU that would idle steals a request, from the longest queue. Requests run to
// completion without preemption.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/sched/policies/task_queue.h"
#include "engine/sched/policy.h"

namespace sluice::engine::sched {

class JoinShortestQueue {
 public:
  static constexpr std::string_view kName = "join_shortest_queue";

  static JoinShortestQueue Make(const PolicyOptions& options) {
    return JoinShortestQueue(options.cpus);
  }

  /// `cpus` is 1 … kMaxCpus. Without `steals`, a CPU with an empty queue idles.
  explicit JoinShortestQueue(CpuId cpus, bool steals = true)
      : cpus_(cpus),
        all_(~CpuMask{0} >> (kMaxCpus - cpus)),
        last_(static_cast<CpuId>(cpus - 1)),
        steals_(steals) {}

  void Enqueue(AgentTask& task, Place place, Nanoseconds) {
    const CpuId cpu = Shortest(task.affinity);
    task.queue = cpu;
    task.key = ClassOf(task);
    cpus_[cpu].classes[task.key].Push(task, place);
    ++cpus_[cpu].waiting;
  }
  void Remove(AgentTask& task) {
    cpus_[task.queue].classes[task.key].Remove(task);
    --cpus_[task.queue].waiting;
  }
  AgentTask* Next(CpuId cpu, Nanoseconds) {
    AgentTask* task = First(cpu, cpu);
    if (task == nullptr && steals_ && cpus_[cpu].present == 0) task = Steal(cpu);
    if (task != nullptr) Remove(*task);
    return task;
  }
  bool Preempts(const Running&, Nanoseconds) const { return false; }
  bool Supersedes(const AgentTask& staged, CpuId cpu, Nanoseconds) const {
    const AgentTask* const first = First(cpu, cpu);
    return first != nullptr && ClassOf(*first) < ClassOf(staged);
  }
  bool Serves(const AgentTask& task, CpuId cpu) const {
    return steals_ && (task.affinity & MaskOf(cpu)) != 0;
  }
  void Entered(AgentTask&, CpuId cpu, Nanoseconds) { ++cpus_[cpu].present; }
  void Left(AgentTask&, CpuId cpu, Nanoseconds) { --cpus_[cpu].present; }

  /// Returns the number of tasks in the queue of `cpu`.
  uint32_t waiting(CpuId cpu) const { return cpus_[cpu].waiting; }

 private:
  struct PerCpu {
    std::array<TaskQueue, kTaskClasses> classes;
    uint32_t waiting = 0;
    uint32_t present = 0;  ///< Number of tasks on the CPU or committed to it.
    uint32_t length() const { return waiting + present; }
  };

  /// Returns the allowed CPU with the shortest queue; ties are broken round robin. If the affinity
  /// contains no CPU, any CPU is returned, and the task waits in its queue without being chosen.
  CpuId Shortest(CpuMask affinity) {
    const CpuMask may = (affinity & all_) != 0 ? affinity & all_ : all_;
    CpuId best = static_cast<CpuId>(std::countr_zero(may));
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 1; i <= cpus_.size(); ++i) {
      const auto cpu = static_cast<CpuId>((last_ + i) % cpus_.size());
      if ((may & MaskOf(cpu)) != 0 && cpus_[cpu].length() < least) {
        best = cpu;
        least = cpus_[cpu].length();
      }
    }
    return last_ = best;
  }

  /// Returns the first task in the queue of `from` that may run on `cpu`.
  AgentTask* First(CpuId from, CpuId cpu) const {
    if (cpus_[from].waiting == 0) return nullptr;
    for (const TaskQueue& queue : cpus_[from].classes) {
      if (AgentTask* const task = queue.FirstFor(cpu)) return task;
    }
    return nullptr;
  }

  AgentTask* Steal(CpuId cpu) const {
    AgentTask* best = nullptr;
    uint32_t longest = 0;
    for (CpuId from = 0; from != cpus_.size(); ++from) {
      if (cpus_[from].waiting <= longest) continue;
      if (AgentTask* const task = First(from, cpu)) {
        best = task;
        longest = cpus_[from].waiting;
      }
    }
    return best;
  }

  std::vector<PerCpu> cpus_;
  CpuMask all_;
  CpuId last_;  ///< CPU whose queue the last task joined.
  bool steals_;
};

}  // namespace sluice::engine::sched
