// SPDX-License-Identifier: BSD-3-Clause
//
// The agent of the kernel's threads: a thread that sleeps when it is idle, because the kernel runs
// the managed threads only on CPUs that other threads leave idle. Host and agent wake each other
// through doorbells.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "agent_of.h"
#include "agent_thread.h"
#include "bar/shm_window.h"
#include "engine/sched/agent.h"
#include "offload/layout.h"

namespace sluice::sched {

/// An eventfd. Rings are counted until Answer().
class Doorbell {
 public:
  /// Throws std::system_error.
  Doorbell();
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  int fd() const { return fd_; }  ///< Readable after a ring.
  void Ring() const;
  void Answer() const;

 private:
  int fd_;
};

/// The NIC's side of the window. An interrupt rings the host's doorbell.
class DoorbellWindow : public bar::ShmWindow {
 public:
  /// `host` must outlive the object.
  DoorbellWindow(bar::ShmWindow window, const Doorbell& host)
      : bar::ShmWindow(std::move(window)), host_(&host) {}
  void Interrupt(uint32_t) { host_->Ring(); }

 private:
  const Doorbell* host_;
};

struct SleepingAgentOptions {
  std::string policy;
  engine::sched::PolicyOptions policy_options;
  engine::sched::AgentOptions agent;
  std::optional<AgentFault> fault;
  engine::sched::Nanoseconds down = 200'000'000;  ///< Duration of the fault.
};

class SleepingAgent {
 public:
  /// Starts the thread. `window` and `bell`, which wakes the agent, must outlive the object.
  SleepingAgent(DoorbellWindow& window, const offload::WaveLayout& layout, const Doorbell& bell,
                const SleepingAgentOptions& options);
  ~SleepingAgent();
  SleepingAgent(const SleepingAgent&) = delete;
  SleepingAgent& operator=(const SleepingAgent&) = delete;

  /// Returns the number of agents so far.
  uint32_t agents() const { return agents_.load(std::memory_order_relaxed); }

 private:
  void Run();
  std::unique_ptr<AgentSide> NewAgent();
  /// Sleeps until the bell rings, but at most `milliseconds`.
  void Sleep(int milliseconds) const;

  DoorbellWindow& window_;
  const offload::WaveLayout layout_;
  const Doorbell& bell_;
  const SleepingAgentOptions options_;
  std::atomic<uint32_t> agents_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sluice::sched
