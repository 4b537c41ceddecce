// SPDX-License-Identifier: BSD-3-Clause
//
// Verdicts on sync groups per slot, stored until the slot's CPU has reported them. A group is
// checked when each of its slots contains one of its decisions, and then enforced as a whole at
// once. Used by one thread at a time.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "engine/sched/abi.h"
#include "engine/sched/kernel.h"

namespace sluice::engine::sched {

class SyncGroups {
 public:
  /// `kernel` outlives the object.
  explicit SyncGroups(Kernel& kernel) : kernel_(&kernel) {}

  bool HasVerdict(CpuId cpu) const { return verdicts_[cpu].has_value(); }
  /// Returns the group's verdict on `transaction`; nothing if the group was not checked yet.
  std::optional<Status> VerdictOn(CpuId cpu, const Transaction& transaction) const;

  /// Checks and enforces the group `members`, all or none. `broken` means that one of its slots
  /// contains a decision outside the group, so that all members are refused.
  void Rule(std::span<const Transaction> members, bool broken, Nanoseconds now);
  /// Reverts the effect of a group on `cpu`, as far as it is still present, and drops its verdict.
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
