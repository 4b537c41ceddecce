// SPDX-License-Identifier: BSD-3-Clause
//
// A host with many CPUs and a scheduling agent behind a window, in virtual time: the kernel, the
// channels, the agent and its policy are the code that runs in real time (lib/engine/sched,
// lib/offload); only processors and what they take are played. Requests come to the host, wake a
// worker task each, are served on a CPU that the agent gives to the task, which then blocks.
//
// One seed, one result.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bar/tlp.h"
#include "bar/window_trace.h"
#include "engine/sched/agent.h"
#include "engine/sched/host.h"
#include "fabric/costs.h"
#include "fabric/link.h"
#include "simulation/random.h"
#include "simulation/sched/mode.h"
#include "simulation/sched/staleness.h"

namespace sluice::simulation {

enum class PolicyKind : uint8_t { kFifo, kShinjuku };

/// What happens to tasks while they wait, beside the requests.
enum class Change : uint8_t {
  kAffinity,  ///< The set of CPUs that a task may use changes (and still holds all of ours).
  kExit,      ///< The task ends; another one takes over its request.
};

struct SchedulingParameters {
  Mode mode = Mode::kPrestaged;
  fabric::Costs costs;
  fabric::LinkParameters link;
  uint16_t cpus = 1;
  uint32_t workers = 4;  ///< Tasks that serve requests.
  PolicyKind policy = PolicyKind::kFifo;
  Picoseconds slice = 30'000'000;  ///< kShinjuku.

  double requests_per_second = 0;  ///< Poisson. 0: closed loop, every worker always has a request.
  ServiceTime service;
  uint64_t warm_up = 200;    ///< Requests completed before measuring.
  uint64_t requests = 2000;  ///< Requests measured.

  /// Of the agent, per decision, beside what its window costs.
  Picoseconds agent_compute = 1'000'000;
  bool interrupts = true;  ///< Else CPUs that idle poll.
  /// An idle CPU looks for prestaged decisions, of which no interrupt tells, at least so often.
  Picoseconds idle_look = 5'000'000;

  double changes_per_second = 0;  ///< Of each task while it waits: a Poisson process.
  Change change = Change::kAffinity;
  /// A task that waits does not change: who wants to change it waits until it is on a CPU.
  bool freeze = false;

  Picoseconds agent_hangs_at = ~Picoseconds{0};
  Picoseconds watchdog = 20'000'000'000;  ///< The host gives its agent up then.
  Picoseconds tick = 1'000'000'000;       ///< Of that.
  Picoseconds limit = 2'000'000'000'000;  ///< The run ends then, whatever was completed.
  uint64_t seed = 1;
};

struct SchedulingResults {
  /// Empty, or what must never be: a rule of the kernel broken, a request lost.
  std::string violation;

  uint64_t arrived = 0;
  uint64_t completed = 0;
  Picoseconds elapsed = 0;             ///< In which the measured requests were completed.
  std::vector<Picoseconds> latencies;  ///< Of those, from arrival to completion; sorted.

  uint64_t switches = 0;  ///< From one task on a CPU to the next, measured part.
  /// Time of CPUs between tasks in those, and of looks at decisions while a task is on the CPU.
  Picoseconds off_task = 0;
  uint64_t direct_switches = 0;     ///< Of them, those whose decision was there at schedule() …
  Picoseconds direct_off_task = 0;  ///< … and their time.

  engine::sched::AgentCounters agent;
  engine::sched::HostCounters host;
  Picoseconds agent_busy = 0;  ///< In steps that did something.
  Staleness staleness;
  uint64_t deferred_changes = 0;  ///< kFreeze: they had to wait …
  Picoseconds deferred_time = 0;  ///< … for so long all together.
  uint64_t overflows = 0;         ///< Of events.
  uint64_t faults = 0;            ///< What cannot be, seen by a channel.
  Picoseconds watchdog_at = 0;    ///< When the host gave its agent up; 0: never.

  std::array<uint64_t, bar::kWindowOperations> host_operations{};  ///< Whole run.
  std::array<uint64_t, bar::kWindowOperations> nic_operations{};
  bar::LinkBytes bytes;

  double RequestsPerSecond() const;
  /// `share` of the requests took at most so long; 0 without any.
  Picoseconds Percentile(double share) const;
  double MeanLatency() const;
  double OffTaskPerSwitch() const;  ///< Picoseconds.
  uint64_t Decisions() const;       ///< That the host ruled on.
};

SchedulingResults Simulate(const SchedulingParameters& parameters);

}  // namespace sluice::simulation
