// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "engine/sched/kernel.h"

namespace sluice::engine::sched {

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
