// SPDX-License-Identifier: BSD-3-Clause
//
// Rules on the decision in one slot, at one look of one CPU: the condition of lib/offload's
// channels (offload::Judge).
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
    kSchedule,  ///< Decisions that waited for schedule() are due.
  };

  /// All outlive it. `enforced_at` becomes `now` when the decision holds.
  SlotJudge(Kernel& kernel, SyncGroups& groups, Moment moment, Nanoseconds now,
            Nanoseconds& enforced_at)
      : kernel_(&kernel),
        groups_(&groups),
        moment_(moment),
        now_(now),
        enforced_at_(&enforced_at) {}

  offload::Ruling Check(offload::Slot slot, const offload::Item& decision, offload::Item& outcome);
  void Apply(offload::Slot slot, const offload::Item& decision);
  /// The decision was taken back before it held.
  void Recalled(offload::Slot slot, const offload::Item& decision, offload::Item& outcome);

  Nanoseconds now() const { return now_; }
  /// A decision waits for schedule().
  bool waits_for_schedule() const { return waits_for_schedule_; }
  /// The decision that waits because its group was not ruled on.
  const std::optional<Transaction>& waits_for_group() const { return waits_for_group_; }
  /// Of the last ruling but kLater.
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
