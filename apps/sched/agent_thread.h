// SPDX-License-Identifier: BSD-3-Clause
//
// The core of the NIC that the agent has: a thread, on a CPU of its own where there is one. Also
// what may happen to an agent, for demonstrations and tests.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "clock.h"
#include "scheduler.h"

namespace sluice::sched {

struct AgentFault {
  enum class Kind : uint8_t {
    kKill,     ///< It is gone; another one comes when the down time is over.
    kFreeze,   ///< It stands still for the down time, and then goes on with what it knew.
    kReplace,  ///< Another one takes its place at once.
  };
  Kind kind = Kind::kKill;
  double after_s = 0;  ///< Since the agent began.
};

/// "kill@1.5", "freeze@2", "replace@0.5". Nothing if it is none of these.
std::optional<AgentFault> ReadAgentFault(std::string_view text);

struct AgentThreadOptions {
  int cpu = -1;         ///< -1: wherever the system likes.
  bool yields = false;  ///< Others may want the CPU: it is given away in idle moments.
  std::optional<AgentFault> fault;
  Nanoseconds down = 200'000'000;
};

class AgentThread {
 public:
  /// Begins. `scheduler`, which has agents, outlives it. Throws std::system_error.
  AgentThread(Scheduler& scheduler, const Clock& clock, const AgentThreadOptions& options);
  ~AgentThread() { Stop(); }
  AgentThread(const AgentThread&) = delete;
  AgentThread& operator=(const AgentThread&) = delete;

  /// Ends the thread and its agent, as if it were killed.
  void Stop();

  /// Of all agents that there were, as it was some milliseconds ago.
  engine::sched::AgentCounters counters() const;
  uint64_t agents() const { return agents_.load(std::memory_order_relaxed); }

 private:
  void Run();
  void Publish(const AgentSide& agent);
  void Retire(std::unique_ptr<AgentSide> agent);
  /// Sleeps, unless the end comes.
  void Rest(Nanoseconds time);
  /// Lets the fault happen to `agent`.
  void Suffer(std::unique_ptr<AgentSide>& agent);

  Scheduler& scheduler_;
  const Clock clock_;
  const AgentThreadOptions options_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> agents_{0};
  mutable std::mutex mutex_;
  engine::sched::AgentCounters published_;
  engine::sched::AgentCounters gone_;  ///< Of agents that are. The thread's own.
  pthread_t thread_{};
};

}  // namespace sluice::sched
