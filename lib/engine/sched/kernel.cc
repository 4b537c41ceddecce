// SPDX-License-Identifier: BSD-3-Clause
#include "engine/sched/kernel.h"

#include <algorithm>

namespace sluice::engine::sched {

namespace {

/// Returns the time from `since` to `now`; 0 if `since` is later than the caller's `now`.
Nanoseconds Age(Nanoseconds since, Nanoseconds now) { return now > since ? now - since : 0; }

}  // namespace

Kernel::Kernel(const KernelLimits& limits)
    : places_(limits.max_tasks), cpus_(std::clamp<CpuId>(limits.cpus, 1, kMaxCpus)) {
  messages_.reserve(message_reserve());
}

const Task* Kernel::Find(Gtid gtid) const {
  const Place* place = places_.Find(gtid);
  return place == nullptr ? nullptr : &place->task;
}

// --- Messages to agents --------------------------------------------------------------------------

void Kernel::SendUnchanged(MessageType type, const Task& task, CpuId cpu, uint8_t flags) {
  ++agent_barrier_;
  messages_.push_back({.type = type,
                       .cpu = cpu,
                       .seqnum = task.barrier,
                       .gtid = task.gtid,
                       .runtime = task.runtime,
                       .cpu_seqnum = cpus_[cpu].seqnum,
                       .flags = flags,
                       .task_class = task.task_class,
                       .group = task.group,
                       .affinity = task.affinity});
}

void Kernel::SendTaskMessage(MessageType type, Task& task, CpuId cpu, uint8_t flags) {
  ++task.barrier;
  SendUnchanged(type, task, cpu, flags);
}

void Kernel::SendCpuMessage(MessageType type, CpuId cpu) {
  messages_.push_back({.type = type,
                       .cpu = cpu,
                       .seqnum = ++agent_barrier_,
                       .gtid = cpus_[cpu].current,
                       .cpu_seqnum = cpus_[cpu].seqnum});
}

void Kernel::StopIdling(CpuId cpu) {
  Cpu& c = cpus_[cpu];
  if (!c.idles) return;
  c.idles = false;
  if (!c.notify_not_idle) return;
  c.notify_not_idle = false;
  SendCpuMessage(MessageType::kCpuNotIdle, cpu);
}

// --- Moving tasks --------------------------------------------------------------------------------

void Kernel::LeaveCpu(Place& place, Nanoseconds now) {
  Task& task = place.task;
  Cpu& cpu = cpus_[task.cpu];
  task.runtime += now - task.since;
  cpu.current = kNoTask;
  ++cpu.seqnum;
  cpu.must_switch = true;
  cpu.idle_since = now;
}

void Kernel::LeaveEverything(Place& place, Nanoseconds now) {
  Task& task = place.task;
  if (task.state == TaskState::kOnCpu) LeaveCpu(place, now);
  if (task.state != TaskState::kRunnable) return;
  places_.StopWaiting(place);
  if (!task.latched) return;
  task.latched = false;
  Cpu& cpu = cpus_[task.cpu];
  cpu.latched = kNoTask;
  // The current task had to leave only to make room for the latched task.
  if (cpu.current != kNoTask) cpu.must_switch = false;
}

void Kernel::Wait(Place& place, Nanoseconds now) {
  place.task.state = TaskState::kRunnable;
  place.task.since = now;
  places_.Wait(place);
}

void Kernel::EvictLatched(CpuId cpu, uint8_t flags) {
  Cpu& c = cpus_[cpu];
  Task& task = places_.Find(c.latched)->task;
  task.latched = false;
  c.latched = kNoTask;
  if (c.current != kNoTask) c.must_switch = false;
  SendTaskMessage(MessageType::kTaskPreempt, task, cpu, flags | kWasLatched);
}

// --- Tasks ---------------------------------------------------------------------------------------

Gtid Kernel::Create(const TaskParameters& parameters, Nanoseconds now) {
  const CpuMask all = ~CpuMask{0} >> (kMaxCpus - cpus());
  if ((parameters.affinity & all) == 0) return kNoTask;
  Place* place = places_.Allocate();
  if (place == nullptr) return kNoTask;
  Task& task = place->task;
  task.state = TaskState::kBlocked;
  task.task_class = parameters.task_class;
  task.group = parameters.group;
  task.affinity = parameters.affinity;
  task.since = now;
  ++live_;
  if (parameters.runnable) Wait(*place, now);
  SendTaskMessage(MessageType::kTaskNew, task, 0, parameters.runnable ? kRunnable : 0);
  return task.gtid;
}

bool Kernel::Wake(Gtid gtid, bool deferrable, Nanoseconds now) {
  Place* place = places_.Find(gtid);
  if (place == nullptr || place->task.state != TaskState::kBlocked) return false;
  Wait(*place, now);
  SendTaskMessage(MessageType::kTaskWakeup, place->task, place->task.cpu,
                  deferrable ? kDeferrable : 0);
  return true;
}

bool Kernel::Exit(Gtid gtid, Nanoseconds now) {
  Place* place = places_.Find(gtid);
  if (place == nullptr || place->task.state == TaskState::kDead) return false;
  Task& task = place->task;
  LeaveEverything(*place, now);
  if (task.state != TaskState::kDeparted) {
    --live_;
    SendTaskMessage(MessageType::kTaskDead, task, task.cpu);
  }
  task.state = TaskState::kDead;
  task.since = now;
  places_.Free(*place);
  return true;
}

bool Kernel::Depart(Gtid gtid, Nanoseconds now) {
  Place* place = places_.Find(gtid);
  if (place == nullptr || place->task.state >= TaskState::kDeparted) return false;
  Task& task = place->task;
  const bool was_current = task.state == TaskState::kOnCpu;
  LeaveEverything(*place, now);
  task.state = TaskState::kDeparted;
  task.departure_unseen = true;
  task.since = now;
  --live_;
  SendTaskMessage(MessageType::kTaskDeparted, task, task.cpu, was_current ? kWasCurrent : 0);
  return true;
}

void Kernel::DepartureSeen(Gtid gtid) {
  if (Place* place = places_.Find(gtid)) place->task.departure_unseen = false;
}

bool Kernel::SetAffinity(Gtid gtid, CpuMask affinity, Nanoseconds now) {
  Place* place = places_.Find(gtid);
  const CpuMask all = ~CpuMask{0} >> (kMaxCpus - cpus());
  if (place == nullptr || place->task.state >= TaskState::kDeparted || (affinity & all) == 0) {
    return false;
  }
  Task& task = place->task;
  task.affinity = affinity;
  SendTaskMessage(MessageType::kTaskAffinityChanged, task, task.cpu);
  if ((affinity & MaskOf(task.cpu)) != 0) return true;
  if (task.latched) Evict(task.cpu, 0);
  if (task.state == TaskState::kOnCpu) Preempt(task.cpu, false, now);
  return true;
}

bool Kernel::Block(CpuId cpu, Nanoseconds now) {
  Place* place = places_.Find(cpus_[cpu].current);
  if (place == nullptr) return false;
  LeaveCpu(*place, now);
  place->task.state = TaskState::kBlocked;
  place->task.since = now;
  SendTaskMessage(MessageType::kTaskBlocked, place->task, cpu);
  return true;
}

bool Kernel::Yield(CpuId cpu, Nanoseconds now) {
  Place* place = places_.Find(cpus_[cpu].current);
  if (place == nullptr) return false;
  LeaveCpu(*place, now);
  Wait(*place, now);
  SendTaskMessage(MessageType::kTaskYield, place->task, cpu);
  return true;
}

bool Kernel::Preempt(CpuId cpu, bool boost, Nanoseconds now) {
  Place* place = places_.Find(cpus_[cpu].current);
  if (place == nullptr) return false;
  LeaveCpu(*place, now);
  Wait(*place, now);
  SendTaskMessage(MessageType::kTaskPreempt, place->task, cpu, boost ? kBoostPriority : 0);
  return true;
}

// --- CPUs ----------------------------------------------------------------------------------------

void Kernel::ChangeAvailability(CpuId cpu, bool before, Nanoseconds now) {
  Cpu& c = cpus_[cpu];
  if (c.available() == before) return;
  if (before) {
    SendCpuMessage(MessageType::kCpuBusy, cpu);
    Evict(cpu, kBoostPriority);
    Preempt(cpu, true, now);
  } else {
    c.idle_since = now;
    SendCpuMessage(MessageType::kCpuAvailable, cpu);
  }
}

void Kernel::SetOnline(CpuId cpu, bool online, Nanoseconds now) {
  const bool before = cpus_[cpu].available();
  cpus_[cpu].online = online;
  ChangeAvailability(cpu, before, now);
}

void Kernel::SetBusyElsewhere(CpuId cpu, bool busy, Nanoseconds now) {
  const bool before = cpus_[cpu].available();
  cpus_[cpu].busy_elsewhere = busy;
  if (busy) StopIdling(cpu);
  ChangeAvailability(cpu, before, now);
}

// --- schedule() ----------------------------------------------------------------------------------

const TaskPlaces::Place* Kernel::LongestWaiting(CpuId cpu) const {
  const Place* place = places_.FirstWaiting();
  while (place != nullptr && (place->task.latched || (place->task.affinity & MaskOf(cpu)) == 0)) {
    place = places_.NextWaiting(*place);
  }
  return place;
}

bool Kernel::HasNext(CpuId cpu) const {
  const Cpu& c = cpus_[cpu];
  if (!c.available()) return false;
  return c.latched != kNoTask || (!agent_ && LongestWaiting(cpu) != nullptr);
}

Gtid Kernel::Switch(CpuId cpu, Nanoseconds now) {
  Cpu& c = cpus_[cpu];
  c.must_switch = false;
  if (c.current != kNoTask) return c.current;
  Place* place = nullptr;
  if (c.latched != kNoTask) {
    place = places_.Find(c.latched);
    c.latched = kNoTask;
    place->task.latched = false;
  } else if (!agent_ && c.available()) {
    place = const_cast<Place*>(LongestWaiting(cpu));
  }
  if (place == nullptr) {
    c.idles = c.available();
    return kNoTask;
  }
  places_.StopWaiting(*place);
  Task& task = place->task;
  task.state = TaskState::kOnCpu;
  task.cpu = cpu;
  task.since = now;
  c.current = task.gtid;
  ++c.seqnum;
  StopIdling(cpu);
  return task.gtid;
}

// Discovery for new agents, and detection of agents that starve waiting tasks.

void Kernel::SetAgent(bool attached, Nanoseconds) { agent_ = attached; }

void Kernel::Discover(Nanoseconds) {
  messages_.push_back({.type = MessageType::kDiscovery, .seqnum = ++agent_barrier_});
  for (CpuId cpu = 0; cpu < cpus(); ++cpu) {
    if (!cpus_[cpu].available()) SendCpuMessage(MessageType::kCpuBusy, cpu);
  }
  for (Place& place : places_) {
    Task& task = place.task;
    task.departure_unseen = false;
    if (task.state >= TaskState::kDeparted) continue;
    const bool waits = task.state == TaskState::kRunnable && !task.latched;
    SendUnchanged(MessageType::kTaskNew, task, task.cpu, waits ? kRunnable : 0);
    if (task.state == TaskState::kOnCpu) SendUnchanged(MessageType::kTaskOnCpu, task, task.cpu, 0);
  }
  // Current tasks precede the tasks that are latched to their CPUs.
  for (CpuId cpu = 0; cpu < cpus(); ++cpu) {
    const Task* const latched = Find(cpus_[cpu].latched);
    if (latched != nullptr) SendUnchanged(MessageType::kTaskOnCpu, *latched, cpu, kWasLatched);
  }
}

bool Kernel::Starves(Nanoseconds timeout, Nanoseconds now) const {
  const Place* const first = places_.FirstWaiting();
  return first != nullptr && Age(first->task.since, now) > timeout;
}

bool Kernel::Neglected(Nanoseconds timeout, Nanoseconds now) const {
  CpuMask idle = 0;
  for (CpuId cpu = 0; cpu < cpus(); ++cpu) {
    const Cpu& c = cpus_[cpu];
    if (c.available() && c.current == kNoTask && c.latched == kNoTask &&
        Age(c.idle_since, now) > timeout) {
      idle |= MaskOf(cpu);
    }
  }
  if (idle == 0) return false;
  for (const Place* at = places_.FirstWaiting(); at != nullptr; at = places_.NextWaiting(*at)) {
    const Task& task = at->task;
    if (Age(task.since, now) <= timeout) return false;
    if (!task.latched && (task.affinity & idle) != 0) return true;
  }
  return false;
}

Status Kernel::CheckTarget(CpuId cpu, const Transaction& transaction) const {
  const Place* place = places_.Find(transaction.gtid);
  if (place == nullptr) return Status::kTargetNotFound;
  const Task& task = place->task;
  if (task.departure_unseen) return Status::kTargetStale;
  if (task.state == TaskState::kDeparted) return Status::kInvalidTarget;
  if (task.state == TaskState::kDead) return Status::kTargetStale;
  if (task.barrier != transaction.task_barrier) return Status::kTargetStale;
  if (task.state == TaskState::kBlocked) return Status::kTargetNotRunnable;
  const bool placed = task.latched || task.state == TaskState::kOnCpu;
  const bool may_stay = task.cpu == cpu && (transaction.commit_flags & kAllowTaskOnCpu) != 0;
  return placed && !may_stay ? Status::kTargetOnCpu : Status::kComplete;
}

Status Kernel::Check(CpuId cpu, const Transaction& transaction, bool local) const {
  if (cpu >= cpus()) return Status::kInvalidCpu;
  if (transaction.version != kAbiVersion) return Status::kUnsupportedVersion;
  if (transaction.cpu != cpu) return Status::kInvalidCpu;
  if ((transaction.run_flags & ~kRunFlags) != 0 ||
      (transaction.commit_flags & ~kCommitFlags) != 0) {
    return Status::kInvalidFlags;
  }
  if (const CpuMask group = transaction.sync_group; group != 0) {
    const CpuMask all = ~CpuMask{0} >> (kMaxCpus - cpus());
    if ((group & MaskOf(cpu)) == 0 || (group & ~all) != 0 ||
        (transaction.commit_flags & kCommitAtSchedule) != 0) {
      return Status::kInvalidFlags;
    }
  }
  const Cpu& c = cpus_[cpu];
  if (!c.online) return Status::kCpuOffline;
  const Gtid gtid = transaction.gtid;
  if (gtid < kIdleTask) return Status::kInvalidTarget;
  if (gtid > 0) {
    if (const Status status = CheckTarget(cpu, transaction); status != Status::kComplete) {
      return status;
    }
  }
  if (!agent_) return Status::kNoAgent;
  if (gtid > 0 && (places_.Find(gtid)->task.affinity & MaskOf(cpu)) == 0) {
    return Status::kNotPermitted;
  }
  if (c.busy_elsewhere) return Status::kCpuUnavailable;
  if ((transaction.run_flags & kDoNotPreempt) != 0 && c.current != kNoTask && c.current != gtid) {
    return Status::kCpuUnavailable;
  }
  if (local && transaction.agent_barrier != agent_barrier_) return Status::kAgentStale;
  return Status::kComplete;
}

void Kernel::Apply(const Transaction& transaction, Nanoseconds) {
  const CpuId cpu = transaction.cpu;
  Cpu& c = cpus_[cpu];
  c.notify_not_idle = (transaction.run_flags & kNeedCpuNotIdle) != 0;
  const Gtid gtid = transaction.gtid;
  if (gtid == kAgentTask) {
    SendCpuMessage(MessageType::kCpuAgentWakeup, cpu);
    return;
  }
  if (gtid > 0 && c.latched == gtid) return;
  Evict(cpu, 0);
  if (gtid > 0 && c.current == gtid) {
    c.must_switch = false;
    return;
  }
  if (gtid > 0) {
    Task& task = places_.Find(gtid)->task;
    task.latched = true;
    task.cpu = cpu;
    c.latched = gtid;
  }
  c.must_switch = gtid > 0 || c.current != kNoTask;
}

bool Kernel::CheckGroup(std::span<const Transaction> transactions,
                        std::span<Status> statuses) const {
  for (size_t i = 0; i < transactions.size(); ++i) {
    const Transaction& transaction = transactions[i];
    Status status = Check(transaction.cpu, transaction);
    for (size_t j = 0; j < i && status == Status::kComplete; ++j) {
      // One task cannot be on two CPUs.
      if (transaction.gtid > 0 && transactions[j].gtid == transaction.gtid) {
        status = Status::kTargetOnCpu;
      }
    }
    if (status != Status::kComplete) {
      std::ranges::fill(statuses, Status::kPoisoned);
      statuses[i] = status;
      return false;
    }
  }
  std::ranges::fill(statuses, Status::kComplete);
  return true;
}

bool Kernel::ApplyGroup(std::span<const Transaction> transactions, std::span<Status> statuses,
                        Nanoseconds now) {
  if (!CheckGroup(transactions, statuses)) return false;
  for (const Transaction& transaction : transactions) Apply(transaction, now);
  return true;
}

bool Kernel::Unlatch(CpuId cpu, Nanoseconds) {
  if (cpus_[cpu].latched == kNoTask) return false;
  Evict(cpu, 0);
  return true;
}

Outcome Kernel::Describe(CpuId cpu, const Transaction& transaction, Status status,
                         Nanoseconds now) const {
  Outcome outcome{.status = status, .gtid = transaction.gtid, .time = now};
  if (const Place* place = places_.Find(transaction.gtid)) {
    const Task& task = place->task;
    outcome.task_barrier = task.barrier;
    const bool waits = task.state == TaskState::kRunnable;
    const bool on_cpu = task.state == TaskState::kOnCpu;
    outcome.task_flags = (task.state < TaskState::kDeparted ? kStatusInUse : 0u) |
                         (on_cpu ? kStatusOnCpu : 0u) | (on_cpu || waits ? kStatusRunnable : 0u) |
                         (task.latched ? kStatusLatched : 0u);
  }
  if (cpu < cpus()) {
    outcome.cpu_seqnum = cpus_[cpu].seqnum;
    outcome.current = cpus_[cpu].current;
  }
  return outcome;
}

}  // namespace sluice::engine::sched
