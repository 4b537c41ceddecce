// SPDX-License-Identifier: BSD-3-Clause
//
// What a CPU of the host does when it schedules, over either channel and on either clock: tells
// the agent, does its own part of the switch, looks for the decision, checks it, enforces it. The
// order of the steps is Wave's (prefetch, message, own bookkeeping, poll). Also the host's care
// for its agent: watchdog, discovery after a restart, its own policy meanwhile.
#pragma once

#include <array>
#include <cstdint>

#include "engine/sched/abi.h"
#include "engine/sched/kernel.h"
#include "offload/item.h"

namespace sluice::engine::sched {

/// Why a CPU schedules.
enum class Reason : uint8_t {
  kIdle,     ///< Nobody is on it; there may be news.
  kBlock,    ///< The task on it waits for something.
  kYield,
  kExit,
  kPreempt,  ///< The agent, or the time, wants the CPU back.
};

struct HostOptions {
  Nanoseconds watchdog = 20'000'000;  ///< Wave's 20 ms: a task waits for longer, and no agent decides.
};

struct HostCounters {
  std::array<uint64_t, kStatuses> statuses{};  ///< Of transactions, by Status - kComplete.
  uint64_t prestage_hits = 0;    ///< schedule() found a decision, and it held.
  uint64_t prestage_stale = 0;   ///< It found one that did not.
  uint64_t prestage_empty = 0;   ///< It found none.
  uint64_t watchdog_expired = 0;
  uint64_t discoveries = 0;
  uint64_t local_choices = 0;    ///< Switches to a task that no agent chose.
};

/// `kernel` and `channel` outlive it. One thread at a time. Slot i of the channel is CPU i.
template <offload::HostChannel C>
class Host {
 public:
  Host(Kernel& kernel, C& channel, const HostOptions& options);

  /// After anything was done to the kernel other than through here: tells the agent.
  void Forward();

  /// schedule(), first half: takes the current task off `cpu` for `reason`, tells the agent, and
  /// starts to fetch its decision. What the host then does for the switch (accounts, state of the
  /// task) hides the way.
  void BeginSwitch(CpuId cpu, Reason reason, Nanoseconds now);
  /// Second half: enforces what waits, and returns who runs now; kNoTask: the CPU idles and is to
  /// look again (Look) when it was woken, or from time to time.
  Gtid EndSwitch(CpuId cpu, Nanoseconds now);
  /// An idle CPU, or a running one at a safe point or after an interrupt: enforces what need not
  /// wait for schedule(). True: the CPU is to schedule now (BeginSwitch; kIdle or kPreempt).
  bool Look(CpuId cpu, Nanoseconds now);

  /// Now and then (a tick): the watchdog, an agent that is new or lost events. Watchdog: the agent
  /// is taken for dead, SetAgent(false), until one says that it is there.
  void Tick(Nanoseconds now);

  const HostCounters& counters() const { return counters_; }

 private:
  Kernel* kernel_;
  C* channel_;
  HostOptions options_;
  HostCounters counters_;
};

}  // namespace sluice::engine::sched
