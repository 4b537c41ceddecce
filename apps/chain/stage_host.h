// SPDX-License-Identifier: BSD-3-Clause
//
// Owns one stage of a running chain: a thread of this process, or a process that can be killed and
// restarted. Each restart gets new memory.
#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bar/ring_memory.h"
#include "cpu/starved_time.h"
#include "device/stage/stage.h"
#include "executor.h"
#include "host/child_process.h"
#include "host/step_thread.h"
#include "stage_memory.h"

namespace sluice::chain_app {

struct StageSpec {
  std::string device;  ///< Name in the graph.
  device::pcie_switch::PortId port = 0;
  bool legacy = false;
  std::string executor;  ///< Name or path in the graph.
  std::string options;
  uint32_t max_message = 0;
  const StageKind* kind = nullptr;
};

/// Counters of a stage, including those before restarts.
struct StageFigures {
  uint64_t batches = 0;
  uint64_t done = 0;
  uint64_t failed = 0;
  std::array<uint64_t, kMaxRefusals> refused{};
  uint64_t restarts = 0;

  uint64_t all_refused() const;
};

/// Used by one thread.
class StageHost {
 public:
  static constexpr uint64_t kPatienceNs = 60'000'000'000;  ///< Maximum time until a stage is ready.

  /// Starts the stage and waits until it is ready, at most kPatienceNs. `program`: path of
  /// sluice-chain-stage; if empty, the stage is a thread. Returns null and sets `error` on failure.
  static std::unique_ptr<StageHost> Start(const StageSpec& spec, const std::string& program,
                                          std::string* error);
  StageHost(const StageHost&) = delete;
  StageHost& operator=(const StageHost&) = delete;

  const StageSpec& spec() const { return spec_; }
  device::stage::LinkMemory& link() { return memory().link; }
  /// Returns the phase that the stage last reported; kStarting after each start. The value is not
  /// trusted: a stage's process can write anything.
  Phase phase() { return memory().phase.load(std::memory_order_acquire); }
  /// Returns the reason why the stage is not ready, in printable ASCII: the stage's own message, or
  /// how its process ended.
  std::string error();
  uint64_t steps() { return memory().counters.steps.load(std::memory_order_relaxed); }
  StageFigures figures();
  bool is_process() const { return !program_.empty(); }

  void Kill() const { child_.Signal(SIGKILL); }
  /// Returns whether the process has ended, and reaps it; false for a thread.
  bool Ended() { return is_process() && child_.Ended(); }
  /// Returns StarvedTime::Since of the process; 0 for a thread or after the process has ended.
  uint64_t Starved(uint64_t now_ns) {
    const pid_t pid = child_.pid();
    return pid == 0 ? 0 : starved_.Since(pid, pid, now_ns);
  }
  /// Starts a new process, which is not ready yet. Call it after Ended, when link() is no longer
  /// used. On failure, returns false and sets `error`; figures() is unchanged, and Restart can be
  /// called again.
  bool Restart(std::string* error);

 private:
  StageHost(const StageSpec& spec, const std::string& program) : spec_(spec), program_(program) {}
  StageMemory& memory() { return *reinterpret_cast<StageMemory*>(memory_.data()); }
  bool NewMemory(std::string* error);
  bool Spawn(std::string* error);
  bool StartThread(std::string* error);
  bool AwaitReady(std::string* error);

  StageSpec spec_;
  std::string program_;
  bar::RingMemory memory_;
  StageFigures before_;  ///< Counters from before the last restart.
  // State of a stage that runs as a process:
  cpu::StarvedTime starved_;
  host::ChildProcess child_;
  // State of a stage that runs as a thread:
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<device::stage::Stage> stage_;
  std::unique_ptr<host::StepThread<>> thread_;
};

}  // namespace sluice::chain_app
