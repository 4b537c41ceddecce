// SPDX-License-Identifier: BSD-3-Clause
//
// The host's mechanism, which owns the authoritative state of tasks and CPUs. It creates, wakes,
// blocks, ends and switches tasks, reports events to agents, and enforces an agent's decision only
// if it is still valid. It does not run tasks: the owner of the CPUs (coroutines on lcores, virtual
// time) reports events and runs the task that Switch() returns. The design follows ghOSt's kernel
// (SOSP'21).
//
// Barriers are counters. A task's barrier is incremented with every message about the task (except
// in a discovery), a CPU's barrier when its current task changes, and the agent's barrier with
// every message. A transaction contains the task barrier that its agent knew; a different value
// means that the agent missed an event.
//
// Pure: uses no clock (`now` must never decrease) and no lock, and allocates only in the
// constructor. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/sched/abi.h"
#include "engine/sched/task_places.h"

namespace sluice::engine::sched {

struct KernelLimits {
  CpuId cpus = 1;  ///< 1 … kMaxCpus.
  /// Maximum number of tasks that are not dead, including departed ones. A dead task stays known
  /// until its place is reused.
  uint32_t max_tasks = 65536;
};

struct TaskParameters {
  uint8_t task_class = 0;
  uint16_t group = 0;
  CpuMask affinity = ~CpuMask{0};
  bool runnable = true;
};

/// A CPU of the host.
struct Cpu {
  Gtid current = kNoTask;  ///< Task on the CPU.
  Gtid latched = kNoTask;  ///< Task that runs next.
  uint32_t seqnum = 0;
  bool online = true;
  bool busy_elsewhere = false;  ///< A higher scheduling class of the host uses the CPU.
  /// The CPU must schedule: `current` must leave or was removed, or a task is latched.
  bool must_switch = false;
  bool notify_not_idle = false;  ///< kNeedCpuNotIdle was requested.
  bool idles = true;             ///< The last Switch() found no task, and no task has run since.
  Nanoseconds idle_since = 0;  ///< Time at which the CPU lost its current task or became available;
                               ///< valid while it has no current task.

  /// Returns whether agents may use the CPU.
  bool available() const { return online && !busy_elsewhere; }
};

class Kernel {
 public:
  explicit Kernel(const KernelLimits& limits);

  // Task events. Each function adds messages about its event. It does nothing and returns false if
  // the task does not exist, or if the task's state does not allow the event.

  /// Creates a task. Returns kNoTask if the table is full or the affinity contains no CPU. Reuses
  /// the place of the task that has been dead longest, so that dead tasks stay known as long as
  /// possible.
  Gtid Create(const TaskParameters& parameters, Nanoseconds now);
  /// Makes a blocked task runnable.
  bool Wake(Gtid gtid, bool deferrable, Nanoseconds now);
  /// Ends a task in any state except dead. A departed task ends without a message.
  bool Exit(Gtid gtid, Nanoseconds now);
  /// Removes a task from the agents' control. The task occupies its place until it exits.
  bool Depart(Gtid gtid, Nanoseconds now);
  /// Records that the agent has received the departure and no longer controls the task. Called by
  /// channels that can detect this. With other channels, the departure counts as received at the
  /// next discovery.
  void DepartureSeen(Gtid gtid);
  /// Sets the CPUs on which a task may run. If the task is on a CPU, or latched to a CPU, that is
  /// no longer allowed, removes it from there (PREEMPT after AFFINITY_CHANGED). Also returns false
  /// if the affinity contains no CPU.
  bool SetAffinity(Gtid gtid, CpuMask affinity, Nanoseconds now);

  // Events of a CPU's current task. They return false if the CPU has no current task.
  bool Block(CpuId cpu, Nanoseconds now);
  bool Yield(CpuId cpu, Nanoseconds now);
  /// Moves the current task from the CPU to the waiting tasks. `boost` means that the reason is
  /// unrelated to agents and that the task should run next.
  bool Preempt(CpuId cpu, bool boost, Nanoseconds now);

  // CPU events. When a CPU becomes unavailable (offline, or busy elsewhere), agents receive
  // CPU_BUSY and then messages about the tasks that had to leave it. When it is available again,
  // they receive CPU_AVAILABLE.
  /// Sets whether the CPU is online. If it goes offline, its current and latched tasks are
  /// preempted with a boost.
  void SetOnline(CpuId cpu, bool online, Nanoseconds now);
  /// Sets whether another scheduler of the host uses the CPU. If it does, the CPU's current and
  /// latched tasks are preempted with a boost.
  void SetBusyElsewhere(CpuId cpu, bool busy, Nanoseconds now);

  // Transactions.
  /// Returns the result that a transaction for `cpu` has at this instant. Performs ghOSt's checks
  /// in ghOSt's order and returns the first failure: version, cpu, flags, online, target, barrier,
  /// runnable, on another CPU, agent, permission, availability, and for a `local` commit the
  /// agent's barrier. A latched task counts as on its CPU. A sync group must contain the
  /// transaction's CPU and only existing CPUs, and excludes kCommitAtSchedule; otherwise, the
  /// result is kInvalidFlags. If kDoNotPreempt is set and another task is on the CPU, the result is
  /// kCpuUnavailable.
  Status Check(CpuId cpu, const Transaction& transaction, bool local = false) const;
  /// Enforces a transaction for which Check returned kComplete. A named task becomes the CPU's
  /// latched task, unless it is already on the CPU; a previously latched task is preempted
  /// (kWasLatched). kNoTask and kIdleTask make the current and the latched task leave. kAgentTask
  /// causes CPU_AGENT_WAKEUP. The task that gets the CPU keeps its barrier.
  void Apply(const Transaction& transaction, Nanoseconds now);
  /// CheckGroup checks all transactions, of which there is at most one per CPU, and returns whether
  /// all results are kComplete. ApplyGroup then also enforces them. statuses[i] is the result of
  /// transactions[i]. If one is refused, the results of all others are kPoisoned.
  bool CheckGroup(std::span<const Transaction> transactions, std::span<Status> statuses) const;
  bool ApplyGroup(std::span<const Transaction> transactions, std::span<Status> statuses,
                  Nanoseconds now);
  /// Preempts the latched task of `cpu` (PREEMPT, kWasLatched). Returns false if there was none.
  bool Unlatch(CpuId cpu, Nanoseconds now);
  /// Returns the outcome that reports `status` and the current state to an agent.
  Outcome Describe(CpuId cpu, const Transaction& transaction, Status status, Nanoseconds now) const;

  /// Implements schedule(): if `cpu` has no current task, its latched task becomes the current
  /// task. Returns the current task; kNoTask if the CPU idles. If there is neither an agent nor a
  /// latched task, selects the task that has waited longest among those that may run on `cpu`. The
  /// search visits all tasks that have waited longer but may not run there.
  Gtid Switch(CpuId cpu, Nanoseconds now);

  // Agents.
  /// Sets whether there is an agent. Without one (the initial state), Check does not accept any
  /// transaction (kNoAgent), and Switch is first come, first served.
  void SetAgent(bool attached, Nanoseconds now);
  bool agent() const { return agent_; }
  /// Reports all state to a new agent:
  /// - DISCOVERY;
  /// - CPU_BUSY for each unavailable CPU;
  /// - for every task that agents control, NEW with its current barrier, and with kRunnable if a
  ///   CPU may be assigned to it; followed by ON_CPU if it is on a CPU;
  /// - ON_CPU with kWasLatched for every latched task.
  ///
  /// All departures count as received. Visits every place.
  void Discover(Nanoseconds now);
  /// Returns whether any task has waited for a CPU for longer than `timeout`; latched tasks count
  /// as waiting.
  bool Starves(Nanoseconds timeout, Nanoseconds now) const;
  /// Returns whether a task that has waited longer than `timeout` may run on an available CPU that
  /// has also idled longer than `timeout`. Latched tasks do not count.
  bool Neglected(Nanoseconds timeout, Nanoseconds now) const;
  /// Returns whether Switch(cpu) would find a task if the CPU had no current task.
  bool HasNext(CpuId cpu) const;

  /// Returns the messages since ClearMessages(), oldest first. Memory is reserved for
  /// kMessageReserve messages plus two per place.
  static constexpr size_t kMessageReserve = 1024;
  size_t message_reserve() const { return 2 * places_.size() + kMessageReserve; }
  std::span<const Message> messages() const { return messages_; }
  void ClearMessages() { messages_.clear(); }

  const Cpu& cpu(CpuId cpu) const { return cpus_[cpu]; }
  CpuId cpus() const { return static_cast<CpuId>(cpus_.size()); }
  /// Returns a task, which may be dead. Returns null if the task is unknown, or if its place was
  /// reused after its death.
  const Task* Find(Gtid gtid) const;
  /// Returns the number of tasks that are neither dead nor departed.
  uint32_t live_tasks() const { return live_; }
  uint32_t agent_barrier() const { return agent_barrier_; }

  const TaskPlaces& places() const { return places_; }

 private:
  using Place = TaskPlaces::Place;

  const Place* LongestWaiting(CpuId cpu) const;

  void SendTaskMessage(MessageType type, Task& task, CpuId cpu, uint8_t flags = 0);
  void SendUnchanged(MessageType type, const Task& task, CpuId cpu, uint8_t flags);
  void SendCpuMessage(MessageType type, CpuId cpu);
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
