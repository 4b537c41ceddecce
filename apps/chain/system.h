// SPDX-License-Identifier: BSD-3-Clause
//
// A running chain: the switch, the NIC, the stages and the CPU, each stepped by a thread or a
// process of its own, and what keeps them running.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bar/ring_memory.h"
#include "chain_settings.h"
#include "cpu_control.h"
#include "figures.h"
#include "instructions.h"
#include "nic.h"
#include "push_control.h"
#include "stage_host.h"
#include "step_thread.h"
#include "switch_runner.h"

namespace sluice::chain_app {

/// One thread: the process's first.
class System {
 public:
  /// Who steps the NIC: a thread of its own, or whoever has nic().
  enum class NicSteps : uint8_t { kByThread, kByOwner };

  /// Everything but messages. `flows`: of the NIC, by settings.flows; they outlive it. Null, with
  /// one line in `error`: `settings` ask for what cannot be.
  static std::unique_ptr<System> Start(const ChainSettings& settings, std::vector<Flow*> flows,
                                       NicSteps steps, std::string* error);
  ~System();

  void StartTraffic();
  void StopTraffic() { nic_->EnableWire(false); }
  Nic& nic() { return *nic_; }
  /// Sees to stages that died or hang, to those that are back, to chains that drain. Every few
  /// milliseconds. A line for people about what happened, or empty.
  std::string Tend();
  /// Another graph takes the place of the one that runs. One line: what was done, or why not.
  std::string Reload(const engine::chain::Graph& graph);
  /// Since StartTraffic; without what became of messages, which flows know.
  Figures Take();
  /// By stage, in the order of Figures::stages.
  std::vector<const StageSpec*> stages() const;

 private:
  /// A stage, and what its process has come to.
  struct Watched {
    std::unique_ptr<StageHost> host;
    /// kDown: its last start failed, and the next one is at `next_start_ns`.
    enum class State : uint8_t { kUp, kStarting, kDown } state = State::kUp;
    bool killed = false;   ///< By this program, and has not ended yet.
    bool watched = false;  ///< Since half of hang_ns: StageHost::Starved counts from there.
    uint64_t pause_ns = 0, next_start_ns = 0;
    uint64_t steps = 0;     ///< As last seen to grow,
    uint64_t steps_ns = 0;  ///< at this time; before it is ready: started then.
    uint64_t next_kill_ns = 0;
    std::string said = {};  ///< Why it could not be started, the last time.
  };

  explicit System(const ChainSettings& settings);
  bool StartStage(const StageSpec& spec, std::string* error);
  bool StartMissing(const Roles& roles, std::string* error);
  void EndStages(size_t left);
  bool StartNic(std::vector<Flow*> flows, NicSteps steps, std::string* error);
  bool StartCpu(std::string* error);
  bool StartSwitch(std::string* error);
  template <typename Part>
  std::unique_ptr<StepThread> CpuThread(Part* part);
  void AimTraffic();
  std::string Apply(const engine::chain::Graph& graph,
                    std::vector<engine::chain::Changed>* changes);
  CpuControl::Do OnCpu();
  CpuControl::Do OnSwitch();
  std::string TendStage(Watched& stage, uint64_t now);
  void Kill(Watched& stage, uint64_t now);
  bool Hangs(Watched& stage, uint64_t now);
  std::string Down(Watched& stage);
  std::string StartAgain(Watched& stage);
  std::string Wait(Watched& stage, const std::string& error);
  void Up(Watched& stage);

  ChainSettings settings_;
  std::vector<Watched> stages_;
  bar::RingMemory nic_link_, cpu_link_;
  std::unique_ptr<Nic> nic_;
  std::unique_ptr<Nic> host_end_;  ///< Pushed: where chains end at the host, if any does.
  std::unique_ptr<SwitchRunner> runner_;
  std::unique_ptr<CpuControl> cpu_;       ///< Through the CPU.
  std::unique_ptr<PushControl> control_;  ///< Pushed.
  std::unique_ptr<StepThread> nic_thread_, cpu_thread_, switch_thread_;
  std::optional<Instructions> instructions_;
  std::atomic<uint64_t> busy_cycles_{0};  ///< Of the CPU's steps that found something.
  uint64_t begin_ns_ = 0;
  uint64_t begin_cpu_ns_ = 0;
  uint64_t reloads_ = 0;
};

}  // namespace sluice::chain_app
