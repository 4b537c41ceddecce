// SPDX-License-Identifier: BSD-3-Clause
//
// What the workers of a run share while one policy decides in one mode: the kernel and the host's
// end, under one lock, the tasks, and the agent. One kernel for all of them and not one each,
// because a policy that serves all processors from one queue has to see them as one host; with one
// worker the lock costs a branch.
#pragma once

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
#include "lock.h"
#include "scheduler.h"
#include "task.h"

namespace sluice::sched {

class Stage {
 public:
  /// The agent begins. `pool`, whose tasks are all free, and `processors` outlive it. Throws
  /// std::system_error.
  Stage(const SchedulerOptions& options, const AgentThreadOptions& agent, const Clock& clock,
        TaskPool& pool, std::span<ProcessorSlot> processors);

  // Under the lock:
  Lock& lock() { return lock_; }
  engine::sched::Kernel& kernel() { return kernel_; }
  HostSide& host() { return scheduler_->host(); }
  TaskPool& pool() { return pool_; }
  /// Tasks that wait for a processor, or for their last one to be through with them.
  uint32_t waiting() const { return pool_.in_use() - on_cpu_; }
  void Arrived() { ++on_cpu_; }
  void Left() { --on_cpu_; }

  /// The agent is sent away for good: the host serves alone what is left. Not under the lock, and
  /// by one thread.
  void Dismiss();
  HostFigures host_figures() {
    return {host().counters(), host().overflows(), host().faults(), pool_.in_use()};
  }

  // Any thread:
  /// What came of it so far, or until End(). The figures are its workers'.
  Result Take(Figures figures, const HostFigures& host) const;
  /// The last request has its answer.
  void End() { end_.store(std::chrono::steady_clock::now()); }

 private:
  SchedulerOptions options_;
  Clock clock_;
  Lock lock_;
  engine::sched::Kernel kernel_;
  TaskPool& pool_;
  uint32_t on_cpu_ = 0;
  std::unique_ptr<Scheduler> scheduler_;
  std::optional<AgentThread> agent_;  ///< Not without agents. Ends before the rest does.
  std::chrono::steady_clock::time_point begin_;
  Disturbance before_;
  std::atomic<std::chrono::steady_clock::time_point> end_{};  ///< The epoch: not yet.
};

/// A policy and a mode.
struct Cell {
  std::string policy;
  std::string mode;
};

/// Which cells a run goes through. Several are for a run with one worker, which changes from one
/// to the next.
struct PlayOptions {
  std::vector<Cell> cells;
  double cell_s = 1;     ///< Each, if there are several.
  uint32_t replays = 0;  ///< Of a cell that was disturbed, if there are several.
  SchedulerOptions scheduler;
  AgentThreadOptions agent;
  uint32_t workers = 1;
  uint32_t stack_bytes = 64 << 10;
};

class Play {
 public:
  /// Throws std::system_error.
  Play(const PlayOptions& options, const Clock& clock);

  const Clock& clock() const { return clock_; }
  bool several() const { return options_.cells.size() > 1; }
  double cell_s() const { return options_.cell_s; }
  Stage& stage() { return *stage_; }
  Board& board() { return board_; }
  const Board& board() const { return board_; }
  std::vector<ProcessorSlot>& processors() { return processors_; }

  enum class Next : uint8_t {
    kAgain,  ///< The present cell: it was disturbed. Of its plays the least disturbed one counts.
    kOther,
    kNone,
  };
  /// Notes what the present cell came to, and begins the next one. No task is there.
  Next Advance();
  /// The present cell as its workers last said. Any thread.
  Result Take() const;
  /// A worker takes no more requests.
  void Leave() { left_.fetch_add(1); }
  bool AllLeft() const { return left_.load() == options_.workers; }
  /// No worker is there any more: notes what the present cell came to, if that was not done.
  void Close();

 private:
  void Begin();

  PlayOptions options_;
  Clock clock_;
  std::vector<ProcessorSlot> processors_;
  TaskPool pool_;
  Board board_;
  /// Which stage it is. Its worker alone changes that, and reads it without.
  mutable std::mutex mutex_;
  size_t cell_ = 0;
  uint32_t replayed_ = 0;
  std::optional<Result> best_;  ///< Of the present cell's earlier plays.
  bool closed_ = false;
  std::atomic<uint32_t> left_{0};
  std::unique_ptr<Stage> stage_;
};

}  // namespace sluice::sched
