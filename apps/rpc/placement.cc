// SPDX-License-Identifier: BSD-3-Clause
#include "placement.h"

#include <array>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "engine/sched/policies/all.h"
#include "engine/sched/policy.h"

namespace sluice::rpc_app {
namespace {

using device::rpc::CoreId;
using device::rpc::kMaxCores;
using device::rpc::kMaxProcesses;
using device::rpc::ProcessId;
using engine::sched::AgentTask;
using engine::sched::CpuId;

template <engine::sched::Policy P>
class PolicyPlacement final : public device::rpc::Placement {
 public:
  PolicyPlacement(P policy, uint32_t cores)
      : policy_(std::move(policy)), per_process_(cores + 1), tasks_(kMaxProcesses * per_process_) {
    for (uint32_t i = 0; i < tasks_.size(); ++i) {
      tasks_[i].gtid = static_cast<engine::sched::Gtid>(i + 1);
      tasks_[i].group = static_cast<uint16_t>(i / per_process_);
      tasks_[i].affinity = ~engine::sched::CpuMask{0} >> (engine::sched::kMaxCpus - cores);
    }
  }

  void Wants(ProcessId process, bool preempted, uint64_t now_ns) override {
    const auto spare = static_cast<uint32_t>(std::countr_one(used_[process]));
    used_[process] |= uint64_t{1} << spare;
    AgentTask& task = tasks_[process * per_process_ + spare];
    waiting_[process] = &task;
    task.runnable_since = now_ns;
    policy_.Enqueue(
        task, preempted ? engine::sched::Place::kPreempted : engine::sched::Place::kBack, now_ns);
  }
  void Withdraw(ProcessId process) override {
    policy_.Remove(*waiting_[process]);
    Free(*waiting_[process]);
  }
  std::optional<ProcessId> Next(CoreId core, uint64_t now_ns) override {
    AgentTask* const task = policy_.Next(static_cast<CpuId>(core), now_ns);
    if (task == nullptr) return {};
    task->cpu = static_cast<CpuId>(core);
    running_[core] = {static_cast<CpuId>(core), task, now_ns};
    if constexpr (engine::sched::WatchesCpus<P>) {
      policy_.Entered(*task, static_cast<CpuId>(core), now_ns);
    }
    return task->group;
  }
  bool Preempts(CoreId core, uint64_t now_ns) override {
    return policy_.Preempts(running_[core], now_ns);
  }
  void Left(CoreId core, uint64_t now_ns) override {
    AgentTask& task = tasks_[running_[core].task->gtid - 1];
    task.runtime += now_ns - running_[core].since;
    running_[core] = {};
    if constexpr (engine::sched::WatchesCpus<P>) {
      policy_.Left(task, static_cast<CpuId>(core), now_ns);
    }
    Free(task);
  }

 private:
  void Free(const AgentTask& task) {
    used_[task.group] &= ~(uint64_t{1} << (task.gtid - 1) % per_process_);
  }

  P policy_;
  uint32_t per_process_;          ///< Tasks per process: one for each core, and one that waits.
  std::vector<AgentTask> tasks_;  ///< Indexed by process, then by task.
  std::array<uint64_t, kMaxProcesses> used_{};  ///< Bit mask of tasks that wait or run.
  std::array<AgentTask*, kMaxProcesses> waiting_{};
  std::array<engine::sched::Running, kMaxCores> running_{};
};

}  // namespace

std::unique_ptr<device::rpc::Placement> MakePlacement(std::string_view policy, uint32_t cores,
                                                      uint64_t slice_ns) {
  std::unique_ptr<device::rpc::Placement> placement;
  engine::sched::VisitPolicy(
      policy, {.cpus = static_cast<CpuId>(cores), .slice = slice_ns}, [&]<typename P>(P made) {
        placement = std::make_unique<PolicyPlacement<P>>(std::move(made), cores);
      });
  return placement;
}

}  // namespace sluice::rpc_app
