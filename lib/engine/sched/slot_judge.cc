// SPDX-License-Identifier: BSD-3-Clause
#include "engine/sched/slot_judge.h"

namespace sluice::engine::sched {

offload::Ruling SlotJudge::Check(offload::Slot slot, const offload::Item& decision,
                                 offload::Item& outcome) {
  const Transaction transaction = DecodeTransaction(decision);
  const auto cpu = static_cast<CpuId>(slot);
  if ((transaction.commit_flags & kCommitAtSchedule) != 0 && moment_ != Moment::kSchedule) {
    waits_for_schedule_ = true;
    return offload::Ruling::kLater;
  }
  status_ = kernel_->Check(cpu, transaction);
  const bool grouped = transaction.version == kAbiVersion && transaction.cpu == cpu &&
                       (transaction.sync_group & MaskOf(cpu)) != 0;
  if (grouped) {
    if (const auto verdict = groups_->VerdictOn(cpu, transaction)) {
      status_ = *verdict;
    } else if (kernel_->agent()) {
      waits_for_group_ = transaction;
      return offload::Ruling::kLater;
    }
  }
  outcome = Encode(kernel_->Describe(cpu, transaction, status_, now_));
  return status_ == Status::kComplete ? offload::Ruling::kEnforce : offload::Ruling::kRefuse;
}

void SlotJudge::Apply(offload::Slot slot, const offload::Item& decision) {
  *enforced_at_ = now_;
  const auto cpu = static_cast<CpuId>(slot);
  const Transaction transaction = DecodeTransaction(decision);
  if (groups_->VerdictOn(cpu, transaction)) {
    groups_->Drop(cpu);  // The decision was enforced with its group.
  } else {
    kernel_->Apply(transaction, now_);
  }
}

void SlotJudge::Recalled(offload::Slot slot, const offload::Item& decision,
                         offload::Item& outcome) {
  const auto cpu = static_cast<CpuId>(slot);
  status_ = Status::kAborted;
  groups_->Revoke(cpu, now_);
  outcome = Encode(kernel_->Describe(cpu, DecodeTransaction(decision), status_, now_));
}

}  // namespace sluice::engine::sched
