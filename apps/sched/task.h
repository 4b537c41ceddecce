// SPDX-License-Identifier: BSD-3-Clause
//
// Tasks: one for each request, from its arrival to its answer. All are made at the start, with
// their stacks, and used again and again.
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

/// The way back to who asked: the headers of the request.
class ReturnPath {
 public:
  /// Ethernet with two tags, IPv6, UDP.
  static constexpr uint32_t kMaxHeaders = 14 + 2 * 4 + 40 + 8;
  static constexpr uint32_t kMaxFrame = kMaxHeaders + kReplyBytes;

  /// Of a datagram that was found in `frame`.
  void Note(const uint8_t* frame, const packet::Datagram& datagram);
  /// The reply as a frame. Returns its length.
  uint32_t Frame(const Reply& reply, std::array<uint8_t, kMaxFrame>& frame) const;

 private:
  packet::Datagram datagram_;
  std::array<uint8_t, kMaxHeaders> headers_{};
};

struct Task {
  explicit Task(std::span<std::byte> stack) : fiber(stack) {}

  /// Computes for as long as the request wants, on processors, and notes how long that was.
  static void Body(void* task);

  Fiber fiber;
  Gtid gtid = engine::sched::kNoTask;
  Request request;
  ReturnPath way_back;
  bool answers = false;  ///< Somebody waits for a reply at the end of way_back.
  bool cut = false;      ///< By a signal, once or more.
  uint64_t due_ns = 0;   ///< When it came, or should have.
  uint64_t work_cycles = 0;
  uint64_t ran_cycles = 0;  ///< Once it has ended.
};

/// Not more than `count` tasks at a time. One thread at a time.
class TaskPool {
 public:
  /// Throws std::system_error if there is no memory for stacks.
  TaskPool(uint32_t count, size_t stack_bytes);

  /// Null: all are in use.
  Task* Take() {
    if (free_.empty()) return nullptr;
    Task* const task = free_.back();
    free_.pop_back();
    return task;
  }
  void Name(Task& task, Gtid gtid) {
    task.gtid = gtid;
    by_gtid_[gtid] = &task;
  }
  /// Null: no task is called so.
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
  std::vector<Task*> free_;  ///< The last one first: its stack may still be in a cache.
  absl::flat_hash_map<Gtid, Task*> by_gtid_;
};

}  // namespace sluice::sched
