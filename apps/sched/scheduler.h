// SPDX-License-Identifier: BSD-3-Clause
//
// One policy in one mode: the host's end, and agents for the other end, without their types. A
// call through them costs some nanoseconds and saves twenty copies of the worker.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sched/agent.h"
#include "engine/sched/host.h"
#include "engine/sched/kernel.h"
#include "model_window.h"

namespace sluice::sched {

using engine::sched::CpuId;
using engine::sched::Gtid;
using engine::sched::Nanoseconds;
using engine::sched::Reason;

/// What a worker uses of engine::sched::SchedHost, which says what each call is. One thread at a
/// time.
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

/// What the agent's thread uses of engine::sched::Agent.
class AgentSide {
 public:
  virtual ~AgentSide() = default;
  virtual uint32_t Step(Nanoseconds now) = 0;
  virtual const engine::sched::AgentCounters& counters() const = 0;
};

struct SchedulerOptions {
  std::string policy = "shinjuku";
  std::string mode = "wave-prestage";
  CpuId cpus = 1;
  uint32_t max_tasks = 1024;
  Nanoseconds slice = 0;  ///< 0: the policy's own.
  Nanoseconds watchdog = 20'000'000;
};

/// How decisions travel. The last one has no agent: the host serves first come, first served.
inline constexpr std::string_view kModes[] = {"wave", "wave-prestage", "swap", "swap-standing",
                                              "local"};
/// By name, those of lib/engine/sched/policies.
std::span<const std::string_view> PolicyNames();

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual HostSide& host() = 0;
  /// One that knows nothing, at the other end of the same window; null if there are no agents in
  /// this mode. The one before it is gone, or will do nothing any more.
  virtual std::unique_ptr<AgentSide> NewAgent() = 0;
};

/// `kernel` and `processors` outlive it. The names are among those above. Throws
/// std::system_error if there is no memory for a window.
std::unique_ptr<Scheduler> MakeScheduler(const SchedulerOptions& options,
                                         engine::sched::Kernel& kernel,
                                         std::span<ProcessorSlot> processors);

}  // namespace sluice::sched
