// SPDX-License-Identifier: BSD-3-Clause
//
// Checks the decision in one slot when a CPU looks at it. Implements offload::Judge for the
// channels of lib/offload.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/sched/abi.h"
#include "engine/sched/kernel.h"
#include "engine/sched/sync_groups.h"
#include "offload/item.h"

namespace sluice::engine::sched {

class SlotJudge {
 public:
  enum class Moment : uint8_t {
    kLook,
    kSchedule,  ///< Decisions with kCommitAtSchedule are due.
  };

  /// All referenced objects must outlive the judge. `enforced_at` is set to `now` when the decision
  /// is enforced.
  SlotJudge(Kernel& kernel, SyncGroups& groups, Moment moment, Nanoseconds now,
            Nanoseconds& enforced_at)
      : kernel_(&kernel),
        groups_(&groups),
        moment_(moment),
        now_(now),
        enforced_at_(&enforced_at) {}

  offload::Ruling Check(offload::Slot slot, const offload::Item& decision, offload::Item& outcome);
  void Apply(offload::Slot slot, const offload::Item& decision);
  /// Sets `outcome` for a decision that was recalled before the host enforced this slot. If the
  /// group's verdict has already been applied to the CPU, unlatches or preempts the task.
  void Recalled(offload::Slot slot, const offload::Item& decision, offload::Item& outcome);

  Nanoseconds now() const { return now_; }
  /// Returns whether a decision waits for schedule().
  bool waits_for_schedule() const { return waits_for_schedule_; }
  /// Returns the decision that waits because its group has no verdict yet.
  const std::optional<Transaction>& waits_for_group() const { return waits_for_group_; }
  /// Returns the result of the last check; not valid if the check returned kLater.
  Status status() const { return status_; }

 private:
  Kernel* kernel_;
  SyncGroups* groups_;
  Moment moment_;
  Nanoseconds now_;
  Nanoseconds* enforced_at_;
  bool waits_for_schedule_ = false;
  std::optional<Transaction> waits_for_group_;
  Status status_ = Status::kComplete;
};

}  // namespace sluice::engine::sched
