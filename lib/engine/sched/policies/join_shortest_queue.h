// SPDX-License-Identifier: BSD-3-Clause
//
// Steering of RPCs to cores: a request joins the shortest of the queues that it may join, counted
// with who is on the CPU or on the way there, and stays in it. Equally short ones take turns, from
// CPU 0 on. Within a queue the most urgent class goes first, in each class the oldest. The queue is
// chosen as the request arrives, so its data can go to that core's cache with it; that is why only
// a CPU that would idle takes somebody else's, from the longest queue. Runs to completion: nobody
// is preempted.
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

  /// 1 … kMaxCpus. Without `steals` a CPU that finds its queue empty idles.
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

  /// In the queue of `cpu`.
  uint32_t waiting(CpuId cpu) const { return cpus_[cpu].waiting; }

 private:
  struct PerCpu {
    std::array<TaskQueue, kTaskClasses> classes;
    uint32_t waiting = 0;
    uint32_t present = 0;  ///< On it, or on the way.
    uint32_t length() const { return waiting + present; }
  };

  /// Of those that are as short, the next whose turn it is. May the task run nowhere, it waits
  /// where it will not be found.
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

  /// Who of the queue of `from` goes first among those that may run on `cpu`.
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
  CpuId last_;  ///< Who got the last task.
  bool steals_;
};

}  // namespace sluice::engine::sched
