// SPDX-License-Identifier: BSD-3-Clause
//
// A scheduling agent: runs on a core of the NIC, hears what happened at the host, lets its policy
// choose, and commits the choices. It knows the host only by messages and outcomes, and both are
// late: what it commits names the state that it was made for, and a refusal leads to another
// choice from fresh state. One step function, so that it runs on an lcore, a thread, a fibre in
// virtual time alike.
//
// A task is in exactly one place: queued (with the policy), committed to a CPU and unresolved,
// on a CPU, or blocked. After ghOSt's FIFO and Shinjuku agents; prestaging by Wave section 1.5 of
// the reference: one decision a CPU beforehand, refilled when it was used, recalled when the
// policy prefers another.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/sched/abi.h"
#include "engine/sched/policy.h"
#include "offload/item.h"

namespace sluice::engine::sched {

struct AgentOptions {
  CpuId cpus = 1;              ///< The agent decides for CPUs 0 … cpus - 1.
  uint32_t max_tasks = 65536;  ///< Known at a time; more are not scheduled, and counted.
  bool prestage = false;       ///< Decide for CPUs that still run something.
};

struct AgentCounters {
  uint64_t messages = 0;
  uint64_t decisions = 0;         ///< Transactions committed.
  uint64_t enforced = 0;
  std::array<uint64_t, kStatuses> refused{};  ///< By Status - kComplete.
  uint64_t preemptions = 0;       ///< Decisions that take a CPU from somebody.
  uint64_t prestaged = 0;
  uint64_t recalled_in_time = 0;
  uint64_t recalled_too_late = 0;
  uint64_t losses = 0;            ///< Times that everything had to be learnt anew.
  uint64_t unknown_tasks = 0;     ///< Messages about tasks that it does not know or has no room for.
};

/// `channel` outlives it. One thread.
template <typename P, offload::NicChannel C>
  requires Policy<P>
class Agent {
 public:
  /// Knows nothing, and asks the host for every task.
  Agent(P policy, C& channel, const AgentOptions& options);

  /// Hears, decides, commits. Returns messages, outcomes and decisions together: 0 is an idle
  /// step. Bounded work: at most `budget` messages.
  uint32_t Step(Nanoseconds now, uint32_t budget = 64);

  const AgentCounters& counters() const { return counters_; }
  /// As far as it knows.
  const Running& running(CpuId cpu) const { return running_[cpu]; }
  uint32_t tasks() const;
  const P& policy() const { return policy_; }

 private:
  P policy_;
  C* channel_;
  AgentOptions options_;
  AgentCounters counters_;
  std::vector<Running> running_;
};

}  // namespace sluice::engine::sched
