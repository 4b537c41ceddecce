// SPDX-License-Identifier: BSD-3-Clause
//
// Schedules virtual machines, like Wave's GCE policy: tasks are vCPUs, and the vCPUs of a machine
// form a group. Decisions are rare, because a quantum lasts milliseconds. Machines share CPU time
// fairly; what counts is the time for which a machine holds a CPU. The vCPUs of a machine are
// scheduled round robin. Core scheduling: two CPUs that are hyperthreads of one core (2i and 2i +
// 1) run vCPUs of only one machine at a time.
//
// A core changes to another machine only when it is empty: all vCPUs must leave before another
// machine's task follows. The order is safe even if a decision is late or refused.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/sched/policies/task_queue.h"
#include "engine/sched/policy.h"

namespace sluice::engine::sched {

/// Tasks without a group form one group, whose members trust each other.
class FairShare {
 public:
  static constexpr std::string_view kName = "fair_share";
  static constexpr Nanoseconds kQuantum = 4'000'000;

  static FairShare Make(const PolicyOptions& options) {
    return FairShare(options.cpus, options.SliceOr(kQuantum));
  }

  explicit FairShare(CpuId cpus, Nanoseconds quantum = kQuantum)
      : quantum_(quantum), cpus_(cpus), cores_((cpus + 1u) / 2), groups_(kGroups) {
    waiting_.reserve(kGroups);
  }

  void Enqueue(AgentTask& task, Place place, Nanoseconds now) {
    Group& group = groups_[task.group];
    if (group.queue.empty()) {
      // A group does not gain an advantage from time without a task. A preempted task does not
      // count as absent.
      if (group.cpus == 0 && place == Place::kBack) group.used = std::max(group.used, Floor(now));
      group.waiting_at = static_cast<uint32_t>(waiting_.size());
      waiting_.push_back(task.group);
    }
    group.queue.Push(task, place);
  }
  void Remove(AgentTask& task) {
    Group& group = groups_[task.group];
    group.queue.Remove(task);
    if (!group.queue.empty()) return;
    groups_[waiting_.back()].waiting_at = group.waiting_at;
    waiting_[group.waiting_at] = waiting_.back();
    waiting_.pop_back();
  }

  AgentTask* Next(CpuId cpu, Nanoseconds now) {
    const Core& core = cores_[cpu / 2];
    if (core.draining) return nullptr;
    const Group* const group = core.tasks == 0 ? Poorest(cpu, now) : &groups_[core.group];
    AgentTask* const task = group == nullptr ? nullptr : group->queue.FirstFor(cpu);
    if (task != nullptr) Remove(*task);
    return task;
  }

  /// Returns whether the running task should leave. If it should leave for another group, the core
  /// starts draining.
  bool Preempts(const Running& running, Nanoseconds now) {
    Core& core = cores_[running.cpu / 2];
    if (core.draining) return true;
    if (now - running.since < quantum_) return false;
    const Group* const poorest = Poorest(running.cpu, now);
    if (poorest == nullptr) return false;
    const Group& own = groups_[core.group];
    core.draining = poorest->Used(now) < own.Used(now);
    return core.draining || own.queue.FirstFor(running.cpu) != nullptr;
  }
  bool PreemptsFor(const Running& running, const AgentTask&, Nanoseconds now) const {
    return now - running.since >= quantum_;
  }
  bool Supersedes(const AgentTask&, CpuId cpu, Nanoseconds) const {
    return cores_[cpu / 2].draining;
  }
  bool Serves(const AgentTask& task, CpuId cpu) const {
    const Core& core = cores_[cpu / 2];
    return (task.affinity & MaskOf(cpu)) != 0 && !core.draining &&
           (core.tasks == 0 || core.group == task.group);
  }

  void Entered(AgentTask& task, CpuId number, Nanoseconds now) {
    Core& core = cores_[number / 2];
    if (core.tasks++ == 0) core.group = task.group;
    // The host chose a task of another group without the agent.
    if (core.group != task.group) core.draining = true;
    Cpu& cpu = cpus_[number];
    if (cpu.tasks++ != 0) return;
    cpu.since = now;
    cpu.group = task.group;
    ++groups_[task.group].cpus;
    groups_[task.group].since += now;
  }
  void Left(AgentTask&, CpuId number, Nanoseconds now) {
    Core& core = cores_[number / 2];
    if (--core.tasks == 0) core.draining = false;
    Cpu& cpu = cpus_[number];
    if (--cpu.tasks != 0) return;
    Group& group = groups_[cpu.group];
    --group.cpus;
    group.since -= cpu.since;
    group.used += now - cpu.since;
    floor_ = std::max(floor_, Floor(now));
  }

 private:
  static constexpr uint32_t kGroups = 65536;

  struct Group {
    TaskQueue queue;
    /// Time on CPUs that the group no longer holds, plus the time added when it returned after
    /// having no task.
    Nanoseconds used = 0;
    uint32_t cpus = 0;  ///< Number of CPUs that the group holds.
    /// Sum of the times at which the group began to hold these CPUs, modulo 2^64.
    Nanoseconds since = 0;
    uint32_t waiting_at = 0;  ///< Index in waiting_.

    Nanoseconds Used(Nanoseconds now) const { return used + cpus * now - since; }
  };
  /// A CPU is held from the commit of its first task until its last task has left.
  struct Cpu {
    uint32_t tasks = 0;
    uint16_t group = 0;
    Nanoseconds since = 0;
  };
  struct Core {
    uint32_t tasks = 0;  ///< Sum of the tasks of its CPUs.
    uint16_t group = 0;
    bool draining = false;
  };

  /// Returns the group with the least used time among those with a waiting task that may run on
  /// `cpu`.
  const Group* Poorest(CpuId cpu, Nanoseconds now) const {
    const Group* poorest = nullptr;
    for (const uint16_t number : waiting_) {
      const Group& group = groups_[number];
      if (poorest != nullptr && group.Used(now) >= poorest->Used(now)) continue;
      if (group.queue.FirstFor(cpu) != nullptr) poorest = &group;
    }
    return poorest;
  }

  /// Returns the minimum used time of the groups that wait or hold a CPU; floor_ if none does.
  Nanoseconds Floor(Nanoseconds now) const {
    Nanoseconds floor = ~Nanoseconds{0};
    for (const uint16_t number : waiting_) floor = std::min(floor, groups_[number].Used(now));
    for (const Cpu& cpu : cpus_) {
      if (cpu.tasks != 0) floor = std::min(floor, groups_[cpu.group].Used(now));
    }
    return floor == ~Nanoseconds{0} ? floor_ : floor;
  }

  Nanoseconds quantum_;
  Nanoseconds floor_ = 0;
  std::vector<Cpu> cpus_;
  std::vector<Core> cores_;
  std::vector<Group> groups_;
  std::vector<uint16_t> waiting_;  ///< Groups with waiting tasks, unordered.
};

}  // namespace sluice::engine::sched
