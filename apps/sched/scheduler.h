// SPDX-License-Identifier: BSD-3-Clause
//
// Interface to one policy in one mode: the host's end of the channel, and the agents at the other
// end. The functions are virtual, so a call costs some nanoseconds more, but the worker is compiled
// only once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent_of.h"
#include "engine/sched/agent.h"
#include "engine/sched/host.h"
#include "engine/sched/kernel.h"
#include "model_window.h"

namespace sluice::sched {

using engine::sched::CpuId;
using engine::sched::Gtid;
using engine::sched::Nanoseconds;
using engine::sched::Reason;

/// The functions of engine::sched::SchedHost that a worker uses; SchedHost documents them. Only one
/// thread at a time may call them.
class HostSide {
 public:
  virtual ~HostSide() = default;
  virtual void Forward() = 0;
  virtual void BeginSwitch(CpuId cpu, Reason reason, Nanoseconds now) = 0;
  virtual Gtid EndSwitch(CpuId cpu, Nanoseconds now) = 0;
  virtual bool Look(CpuId cpu, Nanoseconds now) = 0;
  virtual void Tick(Nanoseconds now) = 0;
  virtual const engine::sched::HostCounters& counters() const = 0;
  virtual uint64_t overflows() const = 0;
  virtual uint64_t faults() const = 0;
};

struct SchedulerOptions {
  std::string policy = "shinjuku";
  std::string mode = "wave-prestage";
  CpuId cpus = 1;
  uint32_t max_tasks = 1024;
  Nanoseconds slice = 0;  ///< 0: the policy's default.
  Nanoseconds watchdog = 20'000'000;
};

/// Modes, i.e. the channels for decisions. "local" has no agent: the host schedules tasks first
/// come, first served.
inline constexpr std::string_view kModes[] = {"wave", "wave-prestage", "swap", "swap-standing",
                                              "local"};
/// Returns the names of the policies in lib/engine/sched/policies.
std::span<const std::string_view> PolicyNames();

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual HostSide& host() = 0;
  /// Creates an agent without state at the other end of the window. Returns null if this mode has
  /// no agents. The previous agent must have been destroyed, or must never run again.
  virtual std::unique_ptr<AgentSide> NewAgent() = 0;
};

/// Creates the scheduler for `options`, in which policy and mode must be names from the lists
/// above. `kernel` and `processors` must outlive the result. Throws std::system_error if the memory
/// for a window is not available.
std::unique_ptr<Scheduler> MakeScheduler(const SchedulerOptions& options,
                                         engine::sched::Kernel& kernel,
                                         std::span<ProcessorSlot> processors);

}  // namespace sluice::sched
