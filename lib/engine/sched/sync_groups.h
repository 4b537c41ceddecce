// SPDX-License-Identifier: BSD-3-Clause
//
// What a sync group came to, for each of its slots, until the slot's own CPU has said so. A group
// is ruled on when all its slots hold a decision of it, and is enforced as a whole in that instant.
// One thread at a time.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "engine/sched/abi.h"
#include "engine/sched/kernel.h"

namespace sluice::engine::sched {

class SyncGroups {
 public:
  /// `kernel` outlives it.
  explicit SyncGroups(Kernel& kernel) : kernel_(&kernel) {}

  bool HasVerdict(CpuId cpu) const { return verdicts_[cpu].has_value(); }
  /// What the group of `transaction` came to; nothing: it was not ruled on.
  std::optional<Status> VerdictOn(CpuId cpu, const Transaction& transaction) const;

  /// Rules on the group that `members` are: enforced, all or none. `broken`: one of its slots holds
  /// another decision, and these are all refused.
  void Rule(std::span<const Transaction> members, bool broken, Nanoseconds now);
  /// What a group enforced on `cpu` is taken back, as far as it is still there.
  void Revoke(CpuId cpu, Nanoseconds now);

  /// The CPU has said so.
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
