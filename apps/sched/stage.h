// SPDX-License-Identifier: BSD-3-Clause
//
// The shared state of a run's workers for one policy in one mode: the kernel and the host's end of
// the channel, under one lock; the tasks; and the agent. All workers share one kernel, because a
// policy that serves all processors from one queue must see a single host. With one worker, the
// lock costs only a branch.
#pragma once

#include <rte_pause.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent_thread.h"
#include "clock.h"
#include "engine/sched/kernel.h"
#include "figures.h"
#include "scheduler.h"
#include "task.h"

namespace sluice::sched {

/// Serializes the workers' access to the shared kernel. Critical sections are a few hundred
/// nanoseconds long, so waiting workers spin.
class Lock {
 public:
  /// If `needed` is false (a single worker), the lock costs one branch.
  explicit Lock(bool needed) : needed_(needed) {}

  void lock() {
    if (!needed_) return;
    while (taken_.exchange(true, std::memory_order_acquire)) {
      while (taken_.load(std::memory_order_relaxed)) rte_pause();
    }
  }
  void unlock() {
    if (needed_) taken_.store(false, std::memory_order_release);
  }

 private:
  const bool needed_;
  alignas(64) std::atomic<bool> taken_{false};
};

class Stage {
 public:
  /// Starts the agent. `pool`, whose tasks must all be free, and `processors` must outlive the
  /// object. Throws std::system_error.
  Stage(const SchedulerOptions& options, const AgentThreadOptions& agent, const Clock& clock,
        TaskPool& pool, std::span<ProcessorSlot> processors);

  // The caller of the following functions must hold the lock.
  Lock& lock() { return lock_; }
  engine::sched::Kernel& kernel() { return kernel_; }
  HostSide& host() { return scheduler_->host(); }
  TaskPool& pool() { return pool_; }
  /// Returns the number of tasks that are waiting for a processor or about to leave one.
  uint32_t waiting() const { return pool_.in_use() - on_cpu_; }
  void Arrived() { ++on_cpu_; }
  void Left() { --on_cpu_; }

  /// Ends the agent permanently; the host serves the remaining tasks alone. Only one thread may
  /// call it, without holding the lock.
  void Dismiss();
  HostFigures host_figures() {
    return {host().counters(), host().overflows(), host().faults(), pool_.in_use()};
  }

  // Any thread may call the following functions.

  /// Returns the result up to now, or up to End() if it was called. `figures`: the workers'
  /// figures.
  Result ReadResult(Figures figures, const HostFigures& host) const;
  /// Sets the end time; call it after the last answer.
  void End() { end_.store(std::chrono::steady_clock::now()); }

 private:
  SchedulerOptions options_;
  Clock clock_;
  Lock lock_;
  engine::sched::Kernel kernel_;
  TaskPool& pool_;
  uint32_t on_cpu_ = 0;
  std::unique_ptr<Scheduler> scheduler_;
  /// Empty in modes without agents. Must be destroyed before scheduler_ and the other members that
  /// the agent's thread uses.
  std::optional<AgentThread> agent_;
  std::chrono::steady_clock::time_point begin_;
  Disturbance before_;
  /// Time of the call to End(); the epoch if End() has not been called.
  std::atomic<std::chrono::steady_clock::time_point> end_{};
};

/// A combination of a policy and a mode.
struct Cell {
  std::string policy;
  std::string mode;
};

/// The cells of a run, and its options. A run with several cells requires a single worker, which
/// runs the cells one after another.
struct PlayOptions {
  std::vector<Cell> cells;
  double cell_s = 1;     ///< Duration of each cell, if there are several.
  uint32_t replays = 0;  ///< Maximum repetitions of a disturbed cell, if there are several cells.
  SchedulerOptions scheduler;
  AgentThreadOptions agent;
  uint32_t workers = 1;
  uint32_t stack_bytes = 64 << 10;
};

class Play {
 public:
  /// Starts the first cell. Throws std::system_error.
  Play(const PlayOptions& options, const Clock& clock);

  const Clock& clock() const { return clock_; }
  bool several() const { return options_.cells.size() > 1; }
  double cell_s() const { return options_.cell_s; }
  Stage& stage() { return *stage_; }
  Board& board() { return board_; }
  const Board& board() const { return board_; }
  std::vector<ProcessorSlot>& processors() { return processors_; }

  enum class Next : uint8_t {
    /// The current cell is repeated because it was disturbed. The least disturbed repetition
    /// counts.
    kAgain,
    kOther,
    kNone,
  };
  /// Stores the result of the current cell and starts the next one, or repeats a disturbed cell
  /// (kAgain). There must be no tasks.
  Next Advance();
  /// Returns the result of the current cell as last published by its workers. May be called by any
  /// thread.
  Result ReadResult() const;
  /// Called when a worker accepts no more requests.
  void Leave() { left_.fetch_add(1); }
  bool AllLeft() const { return left_.load() == options_.workers; }
  /// Stores the result of the current cell unless it has already been stored. Call it after all
  /// workers have ended.
  void Close();

 private:
  void Begin();

  PlayOptions options_;
  Clock clock_;
  std::vector<ProcessorSlot> processors_;
  TaskPool pool_;
  Board board_;
  /// Protects the selection of the stage. Only the cell's worker changes it, and that worker reads
  /// it without the lock.
  mutable std::mutex mutex_;
  size_t cell_ = 0;
  uint32_t replayed_ = 0;
  std::optional<Result> best_;  ///< Best result of the current cell so far.
  bool closed_ = false;
  std::atomic<uint32_t> left_{0};
  std::unique_ptr<Stage> stage_;
};

}  // namespace sluice::sched
