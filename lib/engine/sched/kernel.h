// SPDX-License-Identifier: BSD-3-Clause
//
// The host's mechanism, and the only truth about tasks and CPUs: it makes, wakes, blocks, ends and
// switches tasks, tells agents what happened, and enforces an agent's decision only if that still
// fits. It runs nothing itself: whoever owns the CPUs (coroutines on lcores, virtual time) calls
// it when something happens and runs whom Switch() names. After ghOSt's kernel (SOSP'21).
//
// Barriers. A task's barrier grows with every message about it, a CPU's with every change of what
// runs there, the agent's with every message. A transaction carries the task barrier that its
// agent had seen: any other value says that the agent did not know everything.
//
// Pure: no clock (`now` never goes back), no lock; memory is taken when it is made. One thread at
// a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/sched/abi.h"
#include "engine/sched/task_places.h"

namespace sluice::engine::sched {

struct KernelLimits {
  CpuId cpus = 1;              ///< 1 … kMaxCpus.
  uint32_t max_tasks = 65536;  ///< Alive at a time, and dead ones not yet replaced.
};

struct TaskParameters {
  uint8_t task_class = 0;
  uint16_t group = 0;
  CpuMask affinity = ~CpuMask{0};
  bool runnable = true;
};

/// A CPU as the host knows it.
struct Cpu {
  Gtid current = kNoTask;  ///< On it.
  Gtid latched = kNoTask;  ///< Next on it.
  uint32_t seqnum = 0;
  bool online = true;
  bool busy_elsewhere = false;  ///< A task of a higher class of the host's has it.
  /// It is to schedule: `current` is to leave, or was taken away, or somebody is latched.
  bool must_switch = false;
  bool tell_not_idle = false;  ///< kNeedCpuNotIdle.
  bool idles = true;           ///< The last Switch() found nobody, and none was since.
  Nanoseconds idle_since = 0;  ///< Since when nobody has been on it; if nobody is.

  /// Whether agents may use it.
  bool available() const { return online && !busy_elsewhere; }
};

class Kernel {
 public:
  explicit Kernel(const KernelLimits& limits);

  // What happens to tasks. Each adds its messages. False: there is no such task, or it is not in
  // a state in which this can happen to it; nothing changed.

  /// A new task. kNoTask: the table is full, or the task may run on no CPU. The place of the task
  /// that is dead for the longest is taken last of all free ones: names of the dead stay known as
  /// long as possible.
  Gtid Create(const TaskParameters& parameters, Nanoseconds now);
  /// Blocked becomes runnable.
  bool Wake(Gtid gtid, bool deferrable, Nanoseconds now);
  /// Ends, wherever it is: on a CPU, latched, waiting, blocked; departed (no message then).
  bool Exit(Gtid gtid, Nanoseconds now);
  /// Leaves the agents' care. It keeps its place until it exits.
  bool Depart(Gtid gtid, Nanoseconds now);
  /// The agent has taken note of a departure: from now on the task is not one of its own. For
  /// channels that know; without it, that is so from the next discovery on.
  void DepartureSeen(Gtid gtid);
  /// May take it off a CPU, or off being latched, where it must not be any more (PREEMPT, after
  /// AFFINITY_CHANGED). False as well if it leaves no CPU.
  bool SetAffinity(Gtid gtid, CpuMask affinity, Nanoseconds now);

  // What the task on a CPU does. False: none is there.
  bool Block(CpuId cpu, Nanoseconds now);
  bool Yield(CpuId cpu, Nanoseconds now);
  /// It is taken off. `boost`: by the host for reasons of its own; it deserves the next place.
  bool Preempt(CpuId cpu, bool boost, Nanoseconds now);

  // What happens to CPUs. Agents hear CPU_BUSY when a CPU is not theirs any more, for whichever of
  // the two reasons, then of who had to leave it; and CPU_AVAILABLE when it is theirs again.
  /// Offline: its task is preempted, its latched task, too, both with a boost.
  void SetOnline(CpuId cpu, bool online, Nanoseconds now);
  /// Another scheduler of the host's takes the CPU (its task is preempted with a boost, CPU_BUSY)
  /// or gives it back (CPU_AVAILABLE).
  void SetBusyElsewhere(CpuId cpu, bool busy, Nanoseconds now);

  // Transactions.
  /// What a transaction for `cpu` comes to at this instant: the first that applies of ghOSt's
  /// checks, in its order (version, cpu, flags, online, target, barrier, runnable, on another CPU,
  /// agent, permission, availability, and for a `local` commit the agent's barrier). A task that
  /// is latched somewhere counts as on that CPU. A group must name its own CPU and only CPUs that
  /// exist, and has no use for kCommitAtSchedule (kInvalidFlags); kDoNotPreempt and somebody else
  /// on the CPU is kCpuUnavailable.
  Status Check(CpuId cpu, const Transaction& transaction, bool local = false) const;
  /// Enforces what Check answered kComplete to. A task named becomes the CPU's latched one (one
  /// that was there is preempted, kWasLatched); kNoTask and kIdleTask make the current one leave,
  /// and the latched one, too; kAgentTask is answered by CPU_AGENT_WAKEUP. Who gets
  /// the CPU keeps its barrier.
  void Apply(const Transaction& transaction, Nanoseconds now);
  /// Checks all, then enforces all or none: statuses[i] of transactions[i] on its own CPU; the
  /// others of a group in which one is refused are kPoisoned. At most one for a CPU.
  bool CheckGroup(std::span<const Transaction> transactions, std::span<Status> statuses) const;
  bool ApplyGroup(std::span<const Transaction> transactions, std::span<Status> statuses,
                  Nanoseconds now);
  /// Lets the latched task of `cpu` go (PREEMPT, kWasLatched). False: there is none.
  bool Unlatch(CpuId cpu, Nanoseconds now);
  /// The outcome that tells an agent about `status` and the state as it is.
  Outcome Describe(CpuId cpu, const Transaction& transaction, Status status, Nanoseconds now) const;

  /// schedule(): nobody is on `cpu`; the latched task gets onto it. kNoTask: it idles. Without
  /// an agent, the longest waiting runnable task that may run there (for this it looks at those
  /// who wait longer and may not).
  Gtid Switch(CpuId cpu, Nanoseconds now);

  // Agents.
  /// Whether an agent decides. Without one every transaction is kNoAgent and Switch serves first
  /// come, first served. At the start there is none.
  void SetAgent(bool attached, Nanoseconds now);
  bool agent() const { return agent_; }
  /// For an agent that knows nothing: DISCOVERY; CPU_BUSY for CPUs that agents may not use; NEW for
  /// every task in the agents' care, with its present barrier, kRunnable if it could be given a
  /// CPU; for one on a CPU, ON_CPU after it (kWasLatched: is latched to it). Departures count as
  /// seen. Looks at every place.
  void Discover(Nanoseconds now);
  /// Whether some task has been runnable, and on no CPU, for longer than `timeout`.
  bool Starves(Nanoseconds timeout, Nanoseconds now) const;
  /// Whether one that has waited for so long may run on a CPU that has idled for so long.
  bool Neglected(Nanoseconds timeout, Nanoseconds now) const;
  /// Whether Switch(cpu) would find somebody.
  bool HasNext(CpuId cpu) const;

  /// What happened since ClearMessages(), oldest first. Memory is there for kMessageReserve and
  /// two a task.
  static constexpr size_t kMessageReserve = 1024;
  size_t message_reserve() const { return 2 * places_.size() + kMessageReserve; }
  std::span<const Message> messages() const { return messages_; }
  void ClearMessages() { messages_.clear(); }

  const Cpu& cpu(CpuId cpu) const { return cpus_[cpu]; }
  CpuId cpus() const { return static_cast<CpuId>(cpus_.size()); }
  /// Null: unknown, or so long dead that its place has another.
  const Task* Find(Gtid gtid) const;
  /// Neither dead nor departed.
  uint32_t live_tasks() const { return live_; }
  uint32_t agent_barrier() const { return agent_barrier_; }

  const TaskPlaces& places() const { return places_; }

 private:
  using Place = TaskPlaces::Place;

  const Place* LongestWaiting(CpuId cpu) const;

  void Tell(MessageType type, Task& task, CpuId cpu, uint8_t flags = 0);
  void TellAsItIs(MessageType type, const Task& task, CpuId cpu, uint8_t flags);
  void TellCpu(MessageType type, CpuId cpu);
  void StopIdling(CpuId cpu);

  void LeaveCpu(Place& place, Nanoseconds now);
  void LeaveEverything(Place& place, Nanoseconds now);
  void Wait(Place& place, Nanoseconds now);
  void Evict(CpuId cpu, uint8_t flags) {
    if (cpus_[cpu].latched != kNoTask) EvictLatched(cpu, flags);
  }
  void EvictLatched(CpuId cpu, uint8_t flags);
  void ChangeAvailability(CpuId cpu, bool before, Nanoseconds now);
  Status CheckTarget(CpuId cpu, const Transaction& transaction) const;

  TaskPlaces places_;
  std::vector<Cpu> cpus_;
  std::vector<Message> messages_;
  uint32_t live_ = 0;
  uint32_t agent_barrier_ = 0;
  bool agent_ = false;
};

}  // namespace sluice::engine::sched
