// SPDX-License-Identifier: BSD-3-Clause
//
// A running chain: the switch, the NIC, the stages and the CPU, each of which is stepped by a
// separate thread or process. Also supervises them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bar/ring_memory.h"
#include "base/backoff.h"
#include "chain_settings.h"
#include "cpu_control.h"
#include "figures.h"
#include "host/step_thread.h"
#include "instructions.h"
#include "nic.h"
#include "push_control.h"
#include "stage_host.h"
#include "switch_runner.h"

namespace sluice::chain_app {

/// Used only by the process's main thread.
class System {
 public:
  /// Selects whether the NIC is stepped by a dedicated thread or by the user of nic().
  enum class NicSteps : uint8_t { kByThread, kByOwner };

  /// Starts all parts, without messages. `flows`: the NIC's flows, indexed as in settings.flows;
  /// they must outlive the object. Returns null and sets `error` if `settings` cannot be realized.
  static std::unique_ptr<System> Start(const ChainSettings& settings, std::vector<Flow*> flows,
                                       NicSteps steps, std::string* error);
  ~System();

  void StartTraffic();
  void StopTraffic() { nic_->EnableWire(false); }
  Nic& nic() { return *nic_; }
  /// Handles stage processes that have died, hang or have become ready again, and chains that are
  /// draining or have failed. Call it every few milliseconds. Returns a message for the user, or an
  /// empty string.
  std::string Tend();
  /// Replaces the running graph with the one in a file. Returns the changes, or the reasons for a
  /// rejection, as lines.
  std::string Reload(const std::string& graph_file);
  /// Returns statistics since StartTraffic, without the endings of messages, which flows count.
  Figures ReadFigures();
  /// Returns the stages in the order of Figures::stages.
  std::vector<const StageSpec*> stages() const;

 private:
  static constexpr std::chrono::seconds kFirstPause{1}, kLongestPause{30};

  /// A stage and the state of its process.
  struct Watched {
    std::unique_ptr<StageHost> host;
    /// kDown: the last start failed; the next one is at `next_start_ns`.
    enum class State : uint8_t { kUp, kStarting, kDown } state = State::kUp;
    bool killed = false;  ///< This program has killed the process, which has not ended yet.
    /// Half of hang_ns has passed without a step: StageHost::Starved counts from then on.
    bool watched = false;
    base::Backoff pauses{kFirstPause, kLongestPause};  ///< Pauses between failed starts.
    uint64_t next_start_ns = 0;
    uint64_t steps = 0;  ///< Number of steps at the last check.
    /// Time of the last change of `steps`, or a later time if the stage lacked a CPU; before the
    /// stage is ready: time of its start.
    uint64_t steps_ns = 0;
    uint64_t next_kill_ns = 0;
    std::string text = {};  ///< Reason for the last failed start.
  };

  explicit System(const ChainSettings& settings);
  bool StartStage(const StageSpec& spec, std::string* error);
  bool StartMissing(const Roles& roles, std::string* error);
  void EndStages(size_t left);
  bool StartNic(std::vector<Flow*> flows, NicSteps steps, std::string* error);
  bool StartCpu(std::string* error);
  bool StartSwitch(std::string* error);
  template <typename Part>
  std::unique_ptr<host::StepThread<>> CpuThread(Part* part);
  std::string Replace(const engine::chain::Graph& graph);
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
  /// The host's end of pushed chains; null if no chain ends at the host.
  std::unique_ptr<Nic> host_end_;
  std::unique_ptr<SwitchRunner> runner_;
  std::unique_ptr<CpuControl> cpu_;       ///< Set if chains go through the CPU.
  std::unique_ptr<PushControl> control_;  ///< Set if chains are pushed.
  std::unique_ptr<host::StepThread<>> nic_thread_, cpu_thread_, switch_thread_;
  std::optional<Instructions> instructions_;
  std::atomic<uint64_t> busy_cycles_{0};  ///< TSC cycles spent in the CPU's steps that found work.
  uint64_t begin_ns_ = 0;
  uint64_t begin_cpu_ns_ = 0;
  uint64_t reloads_ = 0;
};

}  // namespace sluice::chain_app
