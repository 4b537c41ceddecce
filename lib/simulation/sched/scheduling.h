// SPDX-License-Identifier: BSD-3-Clause
//
// A host with many CPUs and a scheduling agent on the other end of a window, in virtual time. The
// kernel, the channels, the agent and its policy are the code that runs in real time
// (lib/engine/sched, lib/offload); only processors and their costs are simulated. Each request
// wakes a worker task when it arrives. The agent assigns a CPU to the task, which serves the
// request there and then blocks.
//
// Equal seeds give equal results.
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

/// How waiting tasks change, in addition to serving requests.
enum class Change : uint8_t {
  kAffinity,  ///< The set of allowed CPUs changes but still contains all simulated CPUs.
  kExit,      ///< The task exits; a new task continues its request.
};

struct SchedulingParameters {
  Mode mode = Mode::kPrestaged;
  fabric::Costs costs;
  fabric::LinkParameters link;
  uint16_t cpus = 1;
  uint32_t workers = 4;  ///< Tasks that serve requests.
  PolicyKind policy = PolicyKind::kFifo;
  Picoseconds slice = 30'000'000;  ///< Time slice of kShinjuku.

  /// Poisson rate; 0 for a closed loop, in which every worker always has a request.
  double requests_per_second = 0;
  ServiceTime service;
  uint64_t warm_up = 200;    ///< Number of requests completed before the measurement.
  uint64_t requests = 2000;  ///< Requests measured.

  /// Computing time that the agent spends per decision, in addition to its window costs.
  Picoseconds agent_compute = 1'000'000;
  bool interrupts = true;  ///< If false, idle CPUs poll.
  /// Maximum interval at which an idle CPU polls for prestaged decisions, which send no interrupt.
  Picoseconds idle_look = 5'000'000;

  double changes_per_second = 0;  ///< Poisson rate of changes per waiting task.
  Change change = Change::kAffinity;
  /// Whether each change of a waiting task is delayed until the task is on a CPU.
  bool freeze = false;

  Picoseconds agent_hangs_at = ~Picoseconds{0};
  Picoseconds watchdog = 20'000'000'000;  ///< The host drops an agent that is silent this long.
  Picoseconds tick = 1'000'000'000;       ///< Period of the watchdog's tick.
  /// Maximum length of the run, even if not all requests are complete.
  Picoseconds limit = 2'000'000'000'000;
  uint64_t seed = 1;
};

struct SchedulingResults {
  /// Describes a broken invariant (a violated kernel rule, or a lost request); empty if all
  /// invariants held.
  std::string violation;

  uint64_t arrived = 0;
  uint64_t completed = 0;
  Picoseconds elapsed = 0;  ///< Time taken to complete the measured requests.
  /// Latencies of the measured requests from arrival to completion, in ascending order.
  std::vector<Picoseconds> latencies;

  uint64_t switches = 0;  ///< Measured switches from one task to the next on a CPU.
  /// CPU time between tasks during those switches, and in polls for decisions while a task is on
  /// the CPU.
  Picoseconds off_task = 0;
  uint64_t direct_switches = 0;     ///< Switches for which a decision was ready at schedule().
  Picoseconds direct_off_task = 0;  ///< CPU time of the direct switches.

  engine::sched::AgentCounters agent;
  engine::sched::HostCounters host;
  Picoseconds agent_busy = 0;  ///< Time spent in agent steps that did work.
  Staleness staleness;
  uint64_t deferred_changes = 0;  ///< With `freeze`: number of delayed changes.
  Picoseconds deferred_time = 0;  ///< With `freeze`: total delay of the changes.
  uint64_t overflows = 0;         ///< Dropped events.
  uint64_t faults = 0;            ///< Protocol errors that a channel detected.
  Picoseconds watchdog_at = 0;    ///< Time at which the host dropped its agent; 0 if never.

  /// Operations of the host during the whole run.
  std::array<uint64_t, bar::kWindowOperations> host_operations{};
  std::array<uint64_t, bar::kWindowOperations> nic_operations{};
  bar::LinkBytes bytes;

  double RequestsPerSecond() const;
  /// Returns the percentile `share` of the latencies (0.99 is the 99th), or 0 if there were no
  /// requests.
  Picoseconds Percentile(double share) const;
  double MeanLatency() const;
  double OffTaskPerSwitch() const;  ///< Unit: picoseconds.
  uint64_t Decisions() const;       ///< Decisions that the host enforced or rejected.
};

SchedulingResults Simulate(const SchedulingParameters& parameters);

}  // namespace sluice::simulation
