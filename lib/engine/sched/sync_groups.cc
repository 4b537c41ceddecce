// SPDX-License-Identifier: BSD-3-Clause
#include "engine/sched/sync_groups.h"

#include <algorithm>

namespace sluice::engine::sched {

std::optional<Status> SyncGroups::VerdictOn(CpuId cpu, const Transaction& transaction) const {
  const auto& verdict = verdicts_[cpu];
  if (!verdict || !(verdict->transaction == transaction)) return std::nullopt;
  return verdict->status;
}

void SyncGroups::Rule(std::span<const Transaction> members, bool broken, Nanoseconds now) {
  std::array<Status, kMaxCpus> statuses;
  const std::span<Status> results = std::span(statuses).first(members.size());
  for (const Transaction& member : members) Revoke(member.cpu, now);
  if (broken) {
    std::ranges::fill(results, Status::kPoisoned);
  } else {
    kernel_->ApplyGroup(members, results, now);
  }
  for (size_t i = 0; i < members.size(); ++i) {
    verdicts_[members[i].cpu] = Verdict{members[i], results[i]};
  }
}

void SyncGroups::Revoke(CpuId cpu, Nanoseconds now) {
  const auto& verdict = verdicts_[cpu];
  if (!verdict) return;
  const Gtid gtid = verdict->transaction.gtid;
  if (verdict->status == Status::kComplete && gtid > 0) {
    if (kernel_->cpu(cpu).latched == gtid) kernel_->Unlatch(cpu, now);
    if (kernel_->cpu(cpu).current == gtid) kernel_->Preempt(cpu, false, now);
  }
  Drop(cpu);
}

}  // namespace sluice::engine::sched
