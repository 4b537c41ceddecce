// SPDX-License-Identifier: BSD-3-Clause
//
// One stage of a running chain, as whoever runs it has it: a thread of this process, or a process
// that may be killed and started again, with memory that no earlier one ever had.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bar/ring_memory.h"
#include "cpu/starved_time.h"
#include "device/stage/stage.h"
#include "executor.h"
#include "stage_memory.h"
#include "step_thread.h"

namespace sluice::chain_app {

struct StageSpec {
  std::string device;  ///< Name in the graph.
  device::pcie_switch::PortId port = 0;
  bool legacy = false;
  std::string executor;  ///< As in the graph.
  std::string options;
  uint32_t max_message = 0;
  const StageKind* kind = nullptr;
};

/// What a stage has done, over all its lives.
struct StageFigures {
  uint64_t batches = 0;
  uint64_t done = 0;
  uint64_t failed = 0;
  std::array<uint64_t, kMaxRefusals> refused{};
  uint64_t restarts = 0;

  uint64_t all_refused() const;
};

/// One thread.
class StageHost {
 public:
  static constexpr uint64_t kPatienceNs = 60'000'000'000;  ///< Until a stage is ready.

  /// `program`: sluice-chain-stage; empty: it is a thread. Returns when it is ready. Null, with one
  /// line in `error`.
  static std::unique_ptr<StageHost> Start(const StageSpec& spec, const std::string& program,
                                          std::string* error);
  ~StageHost();
  StageHost(const StageHost&) = delete;
  StageHost& operator=(const StageHost&) = delete;

  const StageSpec& spec() const { return spec_; }
  device::stage::LinkMemory& link() { return memory().link; }
  /// Of this life. A process may write anything there.
  Phase phase() { return memory().phase.load(std::memory_order_acquire); }
  /// Returns the reason why the stage is not ready, in printable ASCII: its own message, or the way
  /// in which its process ended.
  std::string error();
  uint64_t steps() { return memory().counters.steps.load(std::memory_order_relaxed); }
  StageFigures figures();
  bool is_process() const { return !program_.empty(); }

  void Kill() const;
  /// The process has ended; reaps it.
  bool Ended();
  /// StarvedTime::Since of the process; 0 for a thread, or after the end.
  uint64_t Starved(uint64_t now_ns) { return pid_ == 0 ? 0 : starved_.Since(pid_, pid_, now_ns); }
  /// After Ended, and when nobody uses link() any more: another process, which is not ready yet.
  /// False, with one line in `error`: there is none, and figures() are what they were; try again.
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
  StageFigures before_;  ///< Of earlier lives.
  // A process:
  cpu::StarvedTime starved_;
  int status_ = 0;  ///< Of the process that ended last, as waitpid tells it.
  pid_t pid_ = 0;   ///< Until Ended reaps it: no other process has this number.
  // A thread:
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<device::stage::Stage> stage_;
  std::unique_ptr<StepThread> thread_;
};

}  // namespace sluice::chain_app
