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

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/sched/abi.h"

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

enum class TaskState : uint8_t {
  kBlocked,
  kRunnable,  ///< Waits for a CPU; may be latched to one.
  kOnCpu,
  kDeparted,  ///< Scheduled by somebody else from now on.
  kDead,
};

/// A task as the host knows it.
struct Task {
  Gtid gtid = kNoTask;
  TaskState state = TaskState::kDead;
  uint8_t task_class = 0;
  uint16_t group = 0;
  CpuId cpu = 0;                 ///< Where it is, was last, or is latched to.
  bool latched = false;          ///< Chosen for `cpu`, not yet there.
  bool departure_unseen = false; ///< Departed, and agents may still name it.
  uint32_t barrier = 0;
  CpuMask affinity = 0;
  Nanoseconds runtime = 0;       ///< Up to `since` if on a CPU.
  Nanoseconds since = 0;         ///< When it got into its state.
};

/// A CPU as the host knows it.
struct Cpu {
  Gtid current = kNoTask;  ///< On it.
  Gtid latched = kNoTask;  ///< Next on it.
  uint32_t seqnum = 0;
  bool online = true;
  bool busy_elsewhere = false;  ///< A task of a higher class of the host's has it.
  bool must_switch = false;     ///< `current` is to leave: somebody is latched, or the agent said so.
  bool tell_not_idle = false;   ///< kNeedCpuNotIdle.
};

class Kernel {
 public:
  explicit Kernel(const KernelLimits& limits);

  // What happens to tasks. Each adds its messages. False: there is no such task, or it is not in
  // a state in which this can happen to it; nothing changed.

  /// A new task. kNoTask: the table is full.
  Gtid Create(const TaskParameters& parameters, Nanoseconds now);
  /// Blocked becomes runnable.
  bool Wake(Gtid gtid, bool deferrable, Nanoseconds now);
  /// Ends, wherever it is: on a CPU, latched, waiting, blocked.
  bool Exit(Gtid gtid, Nanoseconds now);
  /// Leaves the agents' care.
  bool Depart(Gtid gtid, Nanoseconds now);
  /// The agent has taken note of a departure: from now on the task is not one of its own.
  void DepartureSeen(Gtid gtid);
  /// May take it off a CPU, or off being latched, where it must not be any more (PREEMPT).
  bool SetAffinity(Gtid gtid, CpuMask affinity, Nanoseconds now);

  // What the task on a CPU does. False: none is there.
  bool Block(CpuId cpu, Nanoseconds now);
  bool Yield(CpuId cpu, Nanoseconds now);
  /// It is taken off. `boost`: by the host for reasons of its own, so that it deserves the next place.
  bool Preempt(CpuId cpu, bool boost, Nanoseconds now);

  // What happens to CPUs.
  /// Offline: its task is preempted, its latched task, too.
  void SetOnline(CpuId cpu, bool online, Nanoseconds now);
  /// Another scheduler of the host's takes the CPU (its task is preempted with a boost, CPU_BUSY)
  /// or gives it back (CPU_AVAILABLE).
  void SetBusyElsewhere(CpuId cpu, bool busy, Nanoseconds now);

  // Transactions.
  /// What a transaction for `cpu` comes to at this instant: the first that applies of ghOSt's
  /// checks, in its order (version, cpu, flags, online, target, barrier, runnable, on another CPU,
  /// agent, permission, availability, and for a `local` commit the agent's barrier).
  Status Check(CpuId cpu, const Transaction& transaction, bool local = false) const;
  /// Enforces what Check answered kComplete to. A task named becomes the CPU's latched one (one
  /// that was there is preempted, kWasLatched); kNoTask and kIdleTask make the current one leave.
  void Apply(const Transaction& transaction, Nanoseconds now);
  /// Checks all, then enforces all or none: statuses[i] of transactions[i] on its own CPU; the
  /// others of a group in which one is refused are kPoisoned.
  bool ApplyGroup(std::span<const Transaction> transactions, std::span<Status> statuses,
                  Nanoseconds now);
  /// The outcome that tells an agent about `status` and the state as it is.
  Outcome Describe(CpuId cpu, const Transaction& transaction, Status status, Nanoseconds now) const;

  /// schedule(): nobody is on `cpu`; the latched task gets onto it. kNoTask: it idles. Without
  /// an agent, the longest waiting runnable task that may run there.
  Gtid Switch(CpuId cpu, Nanoseconds now);

  // Agents.
  /// Whether an agent decides. Without one every transaction is kNoAgent and Switch serves first
  /// come, first served. At the start there is none.
  void SetAgent(bool attached, Nanoseconds now);
  bool agent() const { return agent_; }
  /// For an agent that knows nothing: NEW for every task in the agents' care, with its present
  /// barrier, kRunnable or not; for one on a CPU, ON_CPU after it.
  void Discover(Nanoseconds now);
  /// Whether some task has been runnable, and on no CPU, for longer than `timeout`.
  bool Starves(Nanoseconds timeout, Nanoseconds now) const;

  /// What happened since ClearMessages(), oldest first.
  std::span<const Message> messages() const { return messages_; }
  void ClearMessages() { messages_.clear(); }

  const Cpu& cpu(CpuId cpu) const { return cpus_[cpu]; }
  CpuId cpus() const { return static_cast<CpuId>(cpus_.size()); }
  /// Null: unknown, or so long dead that its place has another.
  const Task* Find(Gtid gtid) const;
  /// Neither dead nor departed.
  uint32_t live_tasks() const { return live_; }
  uint32_t agent_barrier() const { return agent_barrier_; }

  /// The first of these that does not hold, or null (a check for tests and simulations; looks at
  /// everything): a task is on at most one CPU, and both say so; a latched task waits, on one
  /// CPU's latch alone; nobody dead or departed is on a CPU, latched or waiting; every waiting
  /// task is in the order of waiting exactly once; live_tasks() counts right.
  const char* Violation() const;

 private:
  // The implementation's.
  std::vector<Cpu> cpus_;
  std::vector<Message> messages_;
  uint32_t live_ = 0;
  uint32_t agent_barrier_ = 0;
  bool agent_ = false;
};

}  // namespace sluice::engine::sched
