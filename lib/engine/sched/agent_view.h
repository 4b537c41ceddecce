// SPDX-License-Identifier: BSD-3-Clause
//
// An agent's view of the host: the place of every task, and the tasks of every CPU. Each task has
// exactly one place. Messages and outcomes of decisions move tasks. Both arrive late, and outcomes
// are not ordered relative to messages: a message that is older than the known state of its task
// changes only attributes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/sched/abi.h"
#include "engine/sched/policy.h"
#include "engine/sched/task_table.h"

namespace sluice::engine::sched {

/// A CPU of the host, as the agent knows it.
struct CpuView {
  Running running;
  KnownTask* latched = nullptr;  ///< Runs next, once the current task has left the CPU.
  bool leaving = false;          ///< The current task must leave, and no task is latched.
  bool busy = false;             ///< Another scheduler of the host uses the CPU.
  /// No decisions are made for the CPU until this time, because the CPU refused a decision for a
  /// reason independent of the task.
  Nanoseconds rests_until = 0;
};

/// Tracks tasks and CPUs, and owns the policy. Informs the policy of every queued task, and of
/// tasks on CPUs if the policy satisfies WatchesCpus.
template <Policy P>
class AgentView {
 public:
  AgentView(P policy, CpuId cpus, uint32_t max_tasks)
      : policy_(std::move(policy)), tasks_(max_tasks), cpus_(std::min(cpus, kMaxCpus)) {
    CpuId number = 0;
    for (CpuView& cpu : cpus_) cpu.running.cpu = number++;
  }

  P& policy() { return policy_; }
  const P& policy() const { return policy_; }
  const std::vector<CpuView>& cpus() const { return cpus_; }
  const CpuView& cpu(CpuId cpu) const { return cpus_[cpu]; }
  uint32_t tasks() const { return tasks_.size(); }
  KnownTask* Find(Gtid gtid) { return tasks_.Find(gtid); }

  /// Handles a message. Returns false and does nothing if the message's task is unknown or exceeds
  /// the limit, its CPU does not exist, or its type is invalid.
  bool Hear(const Message& m, Nanoseconds now) {
    if (m.type == MessageType::kNop) return true;
    if (m.type == MessageType::kDiscovery) return Clear(now), true;
    if (m.type >= MessageType::kCpuTick) return HearOfCpu(m);
    if (m.type < MessageType::kTaskDead || m.type > MessageType::kTaskLatchFailure) return false;
    if (m.gtid <= kNoTask) return false;
    KnownTask* const task = tasks_.Find(m.gtid);
    if (m.type == MessageType::kTaskNew) return HearOfNew(m, task, now);
    if (task == nullptr) return false;
    HearOfTask(m, *task, now);
    return true;
  }

  /// Gets the policy's next task for `cpu` and marks it as committed. Returns null if no task may
  /// run.
  KnownTask* Decide(CpuId cpu, Nanoseconds now) {
    auto* const task = static_cast<KnownTask*>(policy_.Next(cpu, now));
    if (task != nullptr) Enter(*task, Whereabouts::kCommitted, cpu, now);
    return task;
  }

  /// Records that a decision was enforced on `cpu`. The agent made the decision for `gtid` when the
  /// task's barrier was `barrier`; if `gtid` is kNoTask, the current task leaves.
  void Enforced(CpuId cpu, Gtid gtid, uint32_t barrier, Nanoseconds now) {
    CpuView& view = cpus_[cpu];
    if (gtid == kNoTask) {
      view.leaving = view.running.task != nullptr;
      return;
    }
    KnownTask* const task = tasks_.Find(gtid);
    if (task == nullptr || !(CommittedTo(*task, cpu) || task->seqnum == barrier)) return;
    if (task->where == Whereabouts::kOnCpu) return;  // ON_CPU arrived earlier.
    if (!CommittedTo(*task, cpu)) MoveToWaiting(*task, now);
    Latch(*task, cpu, now);
  }

  /// Records that a decision was refused. The agent made the decision for `gtid` when the task's
  /// barrier was `decided_at`. `barrier` and `flags` (StatusFlag) are the task's state at the host.
  /// `blameless` means that the reason is independent of the task.
  void Refused(CpuId cpu, Gtid gtid, uint32_t decided_at, uint32_t barrier, uint32_t flags,
               bool blameless, Nanoseconds now) {
    KnownTask* const task = tasks_.Find(gtid);
    if (task == nullptr || !CommittedTo(*task, cpu)) return;
    constexpr uint32_t kWaits = kStatusInUse | kStatusRunnable;
    const bool waits = (flags & (kWaits | kStatusOnCpu | kStatusLatched)) == kWaits;
    // The agent has received the change since the decision: either the seqnum is newer, or the new
    // affinity excludes the CPU and an outcome had already reported its seqnum.
    const bool informed = task->seqnum != decided_at || (task->affinity & MaskOf(cpu)) == 0;
    if (Newer(barrier, task->seqnum)) {
      // Messages about this change have not arrived yet. However, the task is known to wait for a
      // CPU, which is sufficient for another decision.
      if (!waits) return MoveToWaiting(*task, now);
      task->seqnum = barrier;
    } else if (!blameless && !informed) {
      MoveToWaiting(*task, now);
      if (waits) task->where = Whereabouts::kRefused;
      return;
    }
    Queue(*task, Place::kFront, now);
  }

  void Rest(CpuId cpu, Nanoseconds until) { cpus_[cpu].rests_until = until; }

  /// Removes a task that the host does not know.
  void NotFound(Gtid gtid, Nanoseconds now) {
    KnownTask* const task = tasks_.Find(gtid);
    if (task != nullptr) Forget(*task, now);
  }

  /// Removes all tasks.
  void Clear(Nanoseconds now) {
    tasks_.ForEach([&](KnownTask& task) { Forget(task, now); });
    for (CpuView& view : cpus_) view.leaving = view.busy = false;
  }

  /// Returns the first violated invariant, or null if there is none. For tests; checks all state.
  const char* Violation() {
    const char* violation = nullptr;
    uint32_t on_cpus = 0;
    tasks_.ForEach([&](KnownTask& task) {
      if (tasks_.Find(task.gtid) != &task) violation = "a task can be found by its name";
      if (task.queued != (task.where == Whereabouts::kQueued)) {
        violation = "the policy has a task exactly when the task is queued";
      }
      if (task.where == Whereabouts::kLatched && cpus_[task.at].latched != &task) {
        violation = "the CPU of a latched task lists that task";
      }
      if (task.where == Whereabouts::kOnCpu && cpus_[task.at].running.task != &task) {
        violation = "a task on a CPU is the running task there";
      }
      on_cpus += task.where == Whereabouts::kLatched || task.where == Whereabouts::kOnCpu;
    });
    for (const CpuView& view : cpus_) {
      on_cpus -= (view.running.task != nullptr) + (view.latched != nullptr);
      if (view.running.task == nullptr && (view.leaving || view.latched != nullptr)) {
        violation = "a CPU without a running task has no latched or leaving task";
      }
    }
    if (on_cpus != 0) violation = "every task that runs or is latched on a CPU is known";
    return violation;
  }

 private:
  static bool Newer(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) > 0; }
  static bool CommittedTo(const KnownTask& task, CpuId cpu) {
    return task.where == Whereabouts::kCommitted && task.at == cpu;
  }

  bool HearOfCpu(const Message& m) {
    if (m.type > MessageType::kCpuAgentWakeup || m.cpu >= cpus_.size()) return false;
    if (m.type == MessageType::kCpuBusy) cpus_[m.cpu].busy = true;
    if (m.type == MessageType::kCpuAvailable) {
      cpus_[m.cpu].busy = false;
      cpus_[m.cpu].rests_until = 0;
    }
    return true;
  }

  /// Adds a task, or resets a known task to the state in the message.
  bool HearOfNew(const Message& m, KnownTask* task, Nanoseconds now) {
    if (task == nullptr) {
      task = tasks_.Insert(m.gtid);
      if (task == nullptr) return false;
    } else {
      MoveToWaiting(*task, now);
    }
    task->seqnum = m.seqnum;
    task->task_class = m.task_class;
    task->group = m.group;
    task->affinity = m.affinity;
    task->runtime = m.runtime;
    task->runnable_since = now;
    if (m.cpu < cpus_.size()) task->cpu = m.cpu;
    if ((m.flags & kRunnable) != 0) Queue(*task, Place::kBack, now);
    return true;
  }

  void HearOfTask(const Message& m, KnownTask& task, Nanoseconds now) {
    const bool older = Newer(task.seqnum, m.seqnum);
    if (!older) task.runtime = m.runtime;
    switch (m.type) {
      case MessageType::kTaskDead:
      case MessageType::kTaskDeparted:
        return Forget(task, now);
      case MessageType::kTaskAffinityChanged:
      case MessageType::kTaskPriorityChanged:
        HearOfNature(m, task, now);
        break;
      default:
        break;
    }
    if (older) return;
    const bool repeated = m.seqnum == task.seqnum;
    task.seqnum = m.seqnum;
    if (m.cpu < cpus_.size()) task.cpu = m.cpu;
    switch (m.type) {
      case MessageType::kTaskBlocked:
      case MessageType::kTaskSwitchto:
        return MoveToWaiting(task, now);
      case MessageType::kTaskWakeup:
      case MessageType::kTaskYield:
        // An outcome has already reported this state.
        if (repeated && !IsNowhere(task)) return;
        task.runnable_since = now;
        if (m.type == MessageType::kTaskWakeup) task.deferrable = (m.flags & kDeferrable) != 0;
        return Queue(task, Place::kBack, now);
      case MessageType::kTaskPreempt:
      case MessageType::kTaskLatchFailure: {
        if (repeated && !IsNowhere(task)) return;
        const bool blameless = m.type == MessageType::kTaskLatchFailure ||
                               (m.flags & (kBoostPriority | kWasLatched)) != 0;
        return Queue(task, blameless ? Place::kFront : Place::kPreempted, now);
      }
      case MessageType::kTaskOnCpu:
        if (m.cpu >= cpus_.size())
          return MoveToWaiting(task, now);  // The CPU belongs to another agent.
        if ((m.flags & kWasLatched) == 0) return GetOn(task, m.cpu, now);
        MoveToWaiting(task, now);
        return Latch(task, m.cpu, now);
      default:
        return;
    }
  }

  /// Changes the class or affinity of a task. Requeues a queued task, because a policy may choose
  /// the queue by class or affinity.
  void HearOfNature(const Message& m, KnownTask& task, Nanoseconds now) {
    const bool queue = task.where == Whereabouts::kQueued || task.where == Whereabouts::kRefused;
    if (queue) MoveToWaiting(task, now);
    const bool reclassified = m.type == MessageType::kTaskPriorityChanged;
    if (reclassified) {
      task.task_class = m.task_class;
    } else {
      task.affinity = m.affinity;
    }
    if (queue) Queue(task, reclassified ? Place::kBack : Place::kFront, now);
  }

  void Forget(KnownTask& task, Nanoseconds now) {
    MoveToWaiting(task, now);
    tasks_.Erase(task);
  }

  /// Moves the task to kWaiting. If it was on a CPU, the task that is latched to that CPU becomes
  /// its current task.
  void MoveToWaiting(KnownTask& task, Nanoseconds now) {
    const Whereabouts where = std::exchange(task.where, Whereabouts::kWaiting);
    if (where < Whereabouts::kQueued) return;
    if (where == Whereabouts::kQueued) return policy_.Remove(task);
    if constexpr (WatchesCpus<P>) policy_.Left(task, task.at, now);
    CpuView& view = cpus_[task.at];
    if (where == Whereabouts::kLatched) view.latched = nullptr;
    if (where == Whereabouts::kOnCpu) {
      view.running = {.cpu = task.at, .task = nullptr, .since = now};
      view.leaving = false;
      if (view.latched != nullptr) Run(*std::exchange(view.latched, nullptr), now);
    }
  }

  void Queue(KnownTask& task, Place place, Nanoseconds now) {
    MoveToWaiting(task, now);
    task.where = Whereabouts::kQueued;
    policy_.Enqueue(task, place, now);
  }

  /// Places a task that is neither queued nor at a CPU, or was just returned by the policy's Next.
  void Enter(KnownTask& task, Whereabouts where, CpuId cpu, Nanoseconds now) {
    task.where = where;
    task.at = cpu;
    if constexpr (WatchesCpus<P>) policy_.Entered(task, cpu, now);
  }

  /// Latches the task to `cpu`, or makes it the current task if the CPU is idle. A task that was
  /// latched to the CPU before is queued again.
  void Latch(KnownTask& task, CpuId cpu, Nanoseconds now) {
    if (!CommittedTo(task, cpu)) Enter(task, Whereabouts::kLatched, cpu, now);
    CpuView& view = cpus_[cpu];
    if (view.running.task == nullptr) return Run(task, now);
    if (view.latched != nullptr) Queue(*view.latched, Place::kFront, now);
    task.where = Whereabouts::kLatched;
    view.latched = &task;
  }

  /// Makes the task the current task of its CPU, which must not have one yet.
  void Run(KnownTask& task, Nanoseconds now) {
    task.where = Whereabouts::kOnCpu;
    task.cpu = task.at;
    cpus_[task.at].running = {.cpu = task.at, .task = &task, .since = now};
  }

  /// Records that the task is on `cpu`, even if this contradicts the view. The task that the view
  /// assumed there may still run; the outcome of the next decision for that task will show this.
  void GetOn(KnownTask& task, CpuId cpu, Nanoseconds now) {
    CpuView& view = cpus_[cpu];
    if (view.running.task == &task) return;
    if (!(IsAtCpu(task) && task.at == cpu)) {
      MoveToWaiting(task, now);
      Enter(task, Whereabouts::kCommitted, cpu, now);
    }
    if (view.latched != nullptr) {
      KnownTask& latched = *std::exchange(view.latched, nullptr);
      latched.where = Whereabouts::kCommitted;
      if (&latched != &task) Queue(latched, Place::kFront, now);
    }
    if (view.running.task != nullptr) {
      Queue(*tasks_.Find(view.running.task->gtid), Place::kFront, now);
    }
    Run(task, now);
  }
  static bool IsNowhere(const KnownTask& task) { return task.where < Whereabouts::kQueued; }
  static bool IsAtCpu(const KnownTask& task) { return task.where >= Whereabouts::kCommitted; }

  P policy_;
  TaskTable tasks_;
  std::vector<CpuView> cpus_;
};

}  // namespace sluice::engine::sched
