// SPDX-License-Identifier: BSD-3-Clause
//
// Each request has a task from its arrival to its answer. All tasks and their stacks are allocated
// in advance and reused.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "clock.h"
#include "engine/sched/abi.h"
#include "packet/datagram.h"
#include "processor.h"
#include "request.h"
#include "stack_pool.h"

namespace sluice::sched {

using engine::sched::Gtid;

/// The headers of a request, from which the reply's headers are made.
class ReturnPath {
 public:
  /// Maximum size of the headers in bytes: Ethernet with two VLAN tags, IPv6, UDP.
  static constexpr uint32_t kMaxHeaders = 14 + 2 * 4 + 40 + 8;
  static constexpr uint32_t kMaxFrame = kMaxHeaders + kReplyBytes;

  /// Copies the headers of a datagram that was found in `frame`.
  void Note(const uint8_t* frame, const packet::Datagram& datagram);
  /// Builds the reply's frame. Returns its length.
  uint32_t Frame(const Reply& reply, std::array<uint8_t, kMaxFrame>& frame) const;

 private:
  packet::Datagram datagram_;
  std::array<uint8_t, kMaxHeaders> headers_{};
};

struct Task {
  explicit Task(std::span<std::byte> stack) : fiber(stack) {}

  /// Computes for the request's service time, and records the time spent on processors.
  static void Body(void* task);

  Fiber fiber;
  Gtid gtid = engine::sched::kNoTask;
  Request request;
  ReturnPath way_back;
  bool answers = false;  ///< The client expects a reply, whose headers come from way_back.
  bool cut = false;      ///< Cut by a signal at least once.
  uint64_t due_ns = 0;   ///< Time of arrival; for a generated request, the time when it was due.
  uint64_t work_cycles = 0;
  uint64_t ran_cycles = 0;  ///< Valid after the end of the task.
};

/// A pool of `count` tasks. Only one thread at a time may use it.
class TaskPool {
 public:
  /// Throws std::system_error if the memory for stacks is not available.
  TaskPool(uint32_t count, size_t stack_bytes);

  /// Returns a free task; null if all are in use.
  Task* Allocate() {
    if (free_.empty()) return nullptr;
    Task* const task = free_.back();
    free_.pop_back();
    return task;
  }
  void Name(Task& task, Gtid gtid) {
    task.gtid = gtid;
    by_gtid_[gtid] = &task;
  }
  /// Returns the task with this id; null if there is none.
  Task* Find(Gtid gtid) const {
    const auto found = by_gtid_.find(gtid);
    return found == by_gtid_.end() ? nullptr : found->second;
  }
  void Give(Task& task) {
    by_gtid_.erase(task.gtid);
    task.gtid = engine::sched::kNoTask;
    free_.push_back(&task);
  }

  uint32_t size() const { return static_cast<uint32_t>(tasks_.size()); }
  uint32_t in_use() const { return static_cast<uint32_t>(tasks_.size() - free_.size()); }

 private:
  StackPool stacks_;
  std::deque<Task> tasks_;
  /// Used as a stack, because the memory of the most recently freed task may still be cached.
  std::vector<Task*> free_;
  absl::flat_hash_map<Gtid, Task*> by_gtid_;
};

}  // namespace sluice::sched
