// SPDX-License-Identifier: BSD-3-Clause
//
// The tasks that an agent knows, found by name. Names come from a peer, so any may come; the room
// is taken once, and a task's address stays as long as it is in the table.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "engine/sched/abi.h"
#include "engine/sched/policy.h"

namespace sluice::engine::sched {

/// Where a task is, as far as its agent knows: in exactly one place.
enum class Whereabouts : uint8_t {
  kWaiting,    ///< Blocked, or a message under way tells where it is.
  kRefused,    ///< Could run, but was refused; a message about its nature may tell why.
  kQueued,     ///< With the policy.
  kCommitted,  ///< Decided for a CPU; the decision is unresolved.
  kLatched,    ///< The decision holds, and the CPU still has another.
  kOnCpu,
};

/// A task, and where it is. Every AgentTask that an agent gives to a policy is one.
struct KnownTask : AgentTask {
  Whereabouts where = Whereabouts::kWaiting;
  CpuId at = 0;  ///< Committed to, latched to, or on it.
};

/// Open addressing with linear probing, at most half full; what is taken out leaves no mark.
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

  /// `gtid` is not in the table. Null: no room.
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

  /// `task` is in the table, and in no other place.
  void Erase(KnownTask& task) {
    size_t hole = PositionOf(task.gtid);
    free_.push_back(index_[hole]);
    // Whoever would not be found across the hole moves into it.
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

  /// Calls visit(task) for every task. It may erase that one.
  template <typename V>
  void ForEach(V&& visit) {
    for (KnownTask& task : tasks_) {
      if (task.gtid != kNoTask) visit(task);
    }
  }

  uint32_t size() const { return static_cast<uint32_t>(tasks_.size() - free_.size()); }

 private:
  size_t Following(size_t position) const { return (position + 1) & (index_.size() - 1); }
  /// Fibonacci hashing: neighbouring names lie far apart.
  size_t HomeOf(Gtid gtid) const {
    const uint64_t hash = static_cast<uint64_t>(gtid) * 0x9e3779b97f4a7c15;
    return (hash >> 32) & (index_.size() - 1);
  }
  /// Where `gtid` is, or would be put.
  size_t PositionOf(Gtid gtid) const {
    size_t i = HomeOf(gtid);
    while (index_[i] != 0 && tasks_[index_[i] - 1].gtid != gtid) i = Following(i);
    return i;
  }

  std::vector<KnownTask> tasks_;
  std::vector<uint32_t> index_;  ///< 0: empty; else a task's place in tasks_, from 1.
  std::vector<uint32_t> free_;
};

}  // namespace sluice::engine::sched
