// SPDX-License-Identifier: BSD-3-Clause
//
// Virtual machines, as Wave's GCE policy: tasks are vCPUs, those of a machine are a group. Few
// decisions: a quantum is milliseconds. Machines share the CPUs fairly, by the time that their
// vCPUs have had together; within a machine vCPUs take turns. Core scheduling: two CPUs that are
// hyperthreads of one core (2i and 2i + 1) run vCPUs of one machine at a time.
//
// A core changes to another machine when all its vCPUs are off: who runs there is told to go, and
// nobody follows until the core is empty. So it is safe whatever decision comes late or is refused.
#pragma once

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "engine/sched/policies/task_queue.h"
#include "engine/sched/policy.h"

namespace sluice::engine::sched {

/// Tasks of no group are one group, too: they trust each other.
class FairShare {
 public:
  static constexpr std::string_view kName = "fair_share";
  static constexpr Nanoseconds kQuantum = 4'000'000;

  explicit FairShare(CpuId cpus, Nanoseconds quantum = kQuantum)
      : quantum_(quantum), cores_((cpus + 1u) / 2), groups_(kGroups) {
    waiting_.reserve(kGroups);
  }

  void Enqueue(AgentTask& task, Place place, Nanoseconds) {
    Watch(task);
    Group& group = groups_[task.group];
    if (group.queue.empty()) {
      // Who was away is not paid for that.
      if (group.on_cpus == 0) group.used = std::max(group.used, floor_);
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

  AgentTask* Next(CpuId cpu, Nanoseconds) {
    const Core& core = cores_[cpu / 2];
    if (core.draining) return nullptr;
    const Group* const group = core.tasks == 0 ? Poorest(cpu) : &groups_[core.group];
    AgentTask* const task = group == nullptr ? nullptr : group->queue.FirstFor(cpu);
    if (task == nullptr) return nullptr;
    if (core.tasks == 0) floor_ = std::max(floor_, group->used);
    Remove(*task);
    return task;
  }

  /// Where it says so for the sake of another group, the core begins to drain.
  bool Preempts(const Running& running, Nanoseconds now) {
    Core& core = cores_[running.cpu / 2];
    if (core.draining) return true;
    if (now - running.since < quantum_) return false;
    const Group* const poorest = Poorest(running.cpu);
    const Group& own = groups_[core.group];
    if (poorest == nullptr) return false;
    core.draining = poorest != &own && poorest->used < own.used + Unaccounted(running, now);
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

  void Entered(AgentTask& task, CpuId cpu, Nanoseconds) {
    Watch(task);
    Core& core = cores_[cpu / 2];
    if (core.tasks++ == 0) core.group = task.group;
    // Found there, after the host chose by itself.
    if (core.group != task.group) core.draining = true;
    ++groups_[task.group].on_cpus;
  }
  void Left(AgentTask& task, CpuId cpu, Nanoseconds) {
    Core& core = cores_[cpu / 2];
    if (--core.tasks == 0) core.draining = false;
    Group& group = groups_[task.group];
    --group.on_cpus;
    // The host's account; what it says may be anything.
    const Nanoseconds used = task.runtime - std::min(task.runtime, task.key - 1);
    group.used += std::min(used, std::numeric_limits<Nanoseconds>::max() - group.used);
    task.key = 0;
    Watch(task);
  }

  /// CPU time of `group`, plus what it missed while it wanted none.
  Nanoseconds used(uint16_t group) const { return groups_[group].used; }

 private:
  static constexpr uint32_t kGroups = 65536;

  struct Group {
    TaskQueue queue;
    Nanoseconds used = 0;
    uint32_t on_cpus = 0;     ///< On CPUs, or on the way there.
    uint32_t waiting_at = 0;  ///< Its place in waiting_.
  };
  struct Core {
    uint32_t tasks = 0;  ///< On its CPUs, or on the way there.
    uint16_t group = 0;  ///< Of these.
    bool draining = false;
  };

  /// The key is the runtime up to which a task was accounted for, and one.
  static void Watch(AgentTask& task) {
    if (task.key == 0) task.key = std::min(task.runtime, ~Nanoseconds{1}) + 1;
  }

  static Nanoseconds Unaccounted(const Running& running, Nanoseconds now) {
    return now - running.since;
  }

  /// The group that has had the least, of those with a task that waits and may run on `cpu`.
  const Group* Poorest(CpuId cpu) const {
    const Group* poorest = nullptr;
    for (const uint16_t number : waiting_) {
      const Group& group = groups_[number];
      if (poorest != nullptr && group.used >= poorest->used) continue;
      if (group.queue.FirstFor(cpu) != nullptr) poorest = &group;
    }
    return poorest;
  }

  Nanoseconds quantum_;
  Nanoseconds floor_ = 0;  ///< What the poorest had when a core was last given away.
  std::vector<Core> cores_;
  std::vector<Group> groups_;
  std::vector<uint16_t> waiting_;  ///< Groups with tasks that wait, in no order.
};

}  // namespace sluice::engine::sched
