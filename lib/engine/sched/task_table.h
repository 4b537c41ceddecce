// SPDX-License-Identifier: BSD-3-Clause
//
// Hash table of the tasks that an agent knows. Identifiers come from a peer and may be arbitrary.
// Memory is allocated only once, and a task's address is stable as long as the task is in the
// table.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "engine/sched/abi.h"
#include "engine/sched/policy.h"

namespace sluice::engine::sched {

/// The place of a task as far as the agent knows. Each task has exactly one.
enum class Whereabouts : uint8_t {
  kWaiting,    ///< Blocked, or a message about its state has not arrived yet.
  kRefused,    ///< Runnable, but refused; a message with changed attributes may still arrive.
  kQueued,     ///< Queued by the policy.
  kCommitted,  ///< A decision for a CPU is committed and unresolved.
  kLatched,    ///< The decision was enforced, but the CPU still runs another task.
  kOnCpu,
};

/// A task and its place. All AgentTasks that an agent passes to a policy are of this type.
struct KnownTask : AgentTask {
  Whereabouts where = Whereabouts::kWaiting;
  CpuId at = 0;  ///< CPU to which the task is committed or latched, or on which it runs.
};

/// The known tasks: open addressing with linear probing, at most half full, without tombstones.
class TaskTable {
 public:
  explicit TaskTable(uint32_t max_tasks)
      : tasks_(max_tasks), index_(std::bit_ceil(std::max(max_tasks, uint32_t{1}) * uint64_t{2})) {
    free_.reserve(max_tasks);
    for (uint32_t i = max_tasks; i > 0; --i) free_.push_back(i);
  }

  KnownTask* Find(Gtid gtid) {
    const uint32_t number = index_[PositionOf(gtid)];
    return number == 0 ? nullptr : &tasks_[number - 1];
  }

  /// Adds a task; `gtid` must not be in the table. Returns null if the table is full.
  KnownTask* Insert(Gtid gtid) {
    if (free_.empty()) return nullptr;
    const uint32_t number = free_.back();
    free_.pop_back();
    index_[PositionOf(gtid)] = number;
    KnownTask& task = tasks_[number - 1];
    task = KnownTask{};
    task.gtid = gtid;
    return &task;
  }

  /// Removes `task`, which must be in the table. The policy and CPUs must not refer to it.
  void Erase(KnownTask& task) {
    size_t hole = PositionOf(task.gtid);
    free_.push_back(index_[hole]);
    // Moves an entry into the hole if lookups would otherwise miss it.
    for (size_t i = Following(hole); index_[i] != 0; i = Following(i)) {
      const size_t home = HomeOf(tasks_[index_[i] - 1].gtid);
      if (((i - home) & (index_.size() - 1)) >= ((i - hole) & (index_.size() - 1))) {
        index_[hole] = index_[i];
        hole = i;
      }
    }
    index_[hole] = 0;
    task.gtid = kNoTask;
  }

  /// Calls visit(task) for every task. `visit` may erase the task.
  template <typename V>
  void ForEach(V&& visit) {
    for (KnownTask& task : tasks_) {
      if (task.gtid != kNoTask) visit(task);
    }
  }

  uint32_t size() const { return static_cast<uint32_t>(tasks_.size() - free_.size()); }

 private:
  size_t Following(size_t position) const { return (position + 1) & (index_.size() - 1); }
  /// Returns the first position for a task. Fibonacci hashing spreads consecutive identifiers.
  size_t HomeOf(Gtid gtid) const {
    const uint64_t hash = static_cast<uint64_t>(gtid) * 0x9e3779b97f4a7c15;
    return (hash >> 32) & (index_.size() - 1);
  }
  /// Returns the position of `gtid`, or the free position at which to insert it.
  size_t PositionOf(Gtid gtid) const {
    size_t i = HomeOf(gtid);
    while (index_[i] != 0 && tasks_[index_[i] - 1].gtid != gtid) i = Following(i);
    return i;
  }

  std::vector<KnownTask> tasks_;
  std::vector<uint32_t> index_;  ///< 0: empty; else index in tasks_ plus 1.
  std::vector<uint32_t> free_;
};

}  // namespace sluice::engine::sched
