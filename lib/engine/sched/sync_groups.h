// SPDX-License-Identifier: BSD-3-Clause
//
// Verdicts on sync groups, one per slot, stored until the slot's CPU has reported them. A group is
// checked when each of its slots contains one of its decisions, and is then enforced as a whole.
// Used by one thread at a time.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "engine/sched/abi.h"
#include "engine/sched/kernel.h"

namespace sluice::engine::sched {

class SyncGroups {
 public:
  /// `kernel` must outlive the object.
  explicit SyncGroups(Kernel& kernel) : kernel_(&kernel) {}

  bool HasVerdict(CpuId cpu) const { return verdicts_[cpu].has_value(); }
  /// Returns the group's verdict on `transaction`; nullopt if the group has not been checked yet.
  std::optional<Status> VerdictOn(CpuId cpu, const Transaction& transaction) const;

  /// Checks the group `members` and enforces all or none of it. `broken` means that one of the
  /// group's slots contains a decision outside the group; all members are then refused.
  void Rule(std::span<const Transaction> members, bool broken, Nanoseconds now);
  /// Drops the verdict of `cpu` and reverts the group's effect: unlatches or preempts the task if
  /// it is still latched to the CPU or on it.
  void Revoke(CpuId cpu, Nanoseconds now);

  /// Called when the CPU has reported the verdict.
  void Drop(CpuId cpu) { verdicts_[cpu].reset(); }
  void Clear() { verdicts_.fill(std::nullopt); }

 private:
  struct Verdict {
    Transaction transaction;
    Status status;
  };

  Kernel* kernel_;
  std::array<std::optional<Verdict>, kMaxCpus> verdicts_;
};

}  // namespace sluice::engine::sched
