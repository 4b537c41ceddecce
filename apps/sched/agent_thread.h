// SPDX-License-Identifier: BSD-3-Clause
//
// Simulates the agent's NIC core with a thread, which runs on a separate CPU if there is one. Also
// simulates agent faults, for demonstrations and tests.
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
    kKill,     ///< The agent ends; a new one starts after the down time.
    kFreeze,   ///< The agent stops for the down time, then continues with its old state.
    kReplace,  ///< A new agent replaces the old one immediately.
  };
  Kind kind = Kind::kKill;
  double after_s = 0;  ///< Time in seconds since the start of the thread.
};

/// Parses "kill@1.5", "freeze@2" or "replace@0.5". Returns nullopt if the text is invalid.
std::optional<AgentFault> ReadAgentFault(std::string_view text);

struct AgentThreadOptions {
  int cpu = -1;         ///< -1: any CPU.
  bool yields = false;  ///< Yields the CPU when idle, because other threads may need it.
  std::optional<AgentFault> fault;
  Nanoseconds down = 200'000'000;
};

class AgentThread {
 public:
  /// Starts the thread. `scheduler`, which must support agents, must outlive the object. Throws
  /// std::system_error.
  AgentThread(Scheduler& scheduler, const Clock& clock, const AgentThreadOptions& options);
  ~AgentThread() { Stop(); }
  AgentThread(const AgentThread&) = delete;
  AgentThread& operator=(const AgentThread&) = delete;

  /// Ends the thread and its agent, as a kill fault does.
  void Stop();

  /// Returns the sum over all agents so far, which may be some milliseconds old.
  engine::sched::AgentCounters counters() const;
  uint64_t agents() const { return agents_.load(std::memory_order_relaxed); }

 private:
  void Run();
  void Publish(const AgentSide& agent);
  void Retire(std::unique_ptr<AgentSide> agent);
  /// Sleeps until `time` has passed or the thread is stopped.
  void Rest(Nanoseconds time);
  /// Applies the fault to `agent`.
  void Suffer(std::unique_ptr<AgentSide>& agent);

  Scheduler& scheduler_;
  const Clock clock_;
  const AgentThreadOptions options_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> agents_{0};
  mutable std::mutex mutex_;
  engine::sched::AgentCounters published_;
  /// Sum over the agents that have ended; used by the thread only.
  engine::sched::AgentCounters gone_;
  pthread_t thread_{};
};

}  // namespace sluice::sched
