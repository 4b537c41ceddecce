// SPDX-License-Identifier: BSD-3-Clause
//
// Virtual machines, as Wave's GCE policy: tasks are vCPUs, those of a machine are a group. Few
// decisions: a quantum is milliseconds. Machines share the CPUs fairly, by the time that they have
// held CPUs; within a machine vCPUs take turns. Core scheduling: two CPUs that are hyperthreads of
// one core (2i and 2i + 1) run vCPUs of one machine at a time.
//
// A core changes to another machine when all its vCPUs are off: who runs there is told to go, and
// nobody follows until the core is empty. So it is safe whatever decision comes late or is refused.
#pragma once

#include <algorithm>
#include <cstdint>
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
      // Who was away is not paid for that; who was put off its CPU was not away.
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

  /// Where it says so for the sake of another group, the core begins to drain.
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
    // Found there, after the host chose by itself.
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
    Nanoseconds used = 0;     ///< Time on CPUs that it left, and what it missed while it was away.
    uint32_t cpus = 0;        ///< That it holds.
    Nanoseconds since = 0;    ///< The sum of the times since when; modulo 2^64.
    uint32_t waiting_at = 0;  ///< Its place in waiting_.

    Nanoseconds Used(Nanoseconds now) const { return used + cpus * now - since; }
  };
  /// Held from when a task is on the way to it until the last one has left.
  struct Cpu {
    uint32_t tasks = 0;
    uint16_t group = 0;
    Nanoseconds since = 0;
  };
  struct Core {
    uint32_t tasks = 0;  ///< Of its CPUs.
    uint16_t group = 0;
    bool draining = false;
  };

  /// The group that has had the least, of those with a task that waits and may run on `cpu`.
  const Group* Poorest(CpuId cpu, Nanoseconds now) const {
    const Group* poorest = nullptr;
    for (const uint16_t number : waiting_) {
      const Group& group = groups_[number];
      if (poorest != nullptr && group.Used(now) >= poorest->Used(now)) continue;
      if (group.queue.FirstFor(cpu) != nullptr) poorest = &group;
    }
    return poorest;
  }

  /// What the poorest has had of those that wait or run; of late, if there is none.
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
  std::vector<uint16_t> waiting_;  ///< Groups with tasks that wait, in no order.
};

}  // namespace sluice::engine::sched
