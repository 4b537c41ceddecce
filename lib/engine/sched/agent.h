// SPDX-License-Identifier: BSD-3-Clause
//
// A scheduling agent: runs on a core of the NIC, receives the host's messages, lets its policy
// choose tasks, and commits the decisions. It learns the host's state only from messages and
// outcomes, both of which arrive late. Therefore each transaction names the state that it is based
// on, and a refusal leads to a new decision from updated state. The agent is a step function, so
// that it can run on an lcore, in a thread or in a fibre with virtual time.
//
// A task is in exactly one place: queued (owned by the policy), committed to a CPU and unresolved,
// on a CPU, or blocked (agent_view.h). The design follows ghOSt's FIFO and Shinjuku agents.
// Prestaging is from Wave (docs/wave.md, "Prestaging"): one decision per CPU is made in advance,
// replaced when used, and recalled when the policy prefers another task.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "engine/sched/abi.h"
#include "engine/sched/agent_view.h"
#include "engine/sched/policy.h"
#include "offload/item.h"

namespace sluice::engine::sched {

struct AgentOptions {
  CpuId cpus = 1;  ///< The agent decides for CPUs 0 … cpus - 1.
  /// Maximum number of known tasks; others are counted but not scheduled.
  uint32_t max_tasks = 65536;
  bool prestage = false;  ///< Whether to decide in advance for CPUs that run a task.
  /// If a CPU idles this long although a decision is prestaged for it, the decision probably
  /// arrived just after the CPU had looked for it. The agent then recalls the decision and makes a
  /// new decision, with an interrupt.
  Nanoseconds nudge = 20'000;
  /// Time until the next decision for a CPU that refused one for a reason independent of the task.
  Nanoseconds retry = 1'000'000;
};

struct AgentCounters {
  uint64_t messages = 0;
  uint64_t decisions = 0;  ///< Transactions committed.
  uint64_t enforced = 0;
  std::array<uint64_t, kStatuses> refused{};  ///< Indexed by Status - kComplete.
  uint64_t preemptions = 0;                   ///< Decisions to preempt a task.
  uint64_t prestaged = 0;
  uint64_t recalled_in_time = 0;
  uint64_t recalled_too_late = 0;
  /// Number of restarts because messages were lost or the host abandoned the agent; each requests a
  /// discovery.
  uint64_t losses = 0;
  /// Invalid input: messages about tasks that are unknown or exceed max_tasks, messages about CPUs
  /// of other agents, messages of an invalid type, and outcomes of an invalid status.
  uint64_t unknown_tasks = 0;
};

/// `channel` must outlive the agent. Used by one thread.
template <typename P, offload::NicChannel C>
requires Policy<P>
class Agent {
 public:
  /// Starts without state and requests all tasks from the host.
  Agent(P policy, C& channel, const AgentOptions& options)
      : options_(options),
        channel_(&channel),
        view_(std::move(policy), options.cpus, options.max_tasks) {
    channel_->RequestRestart();
  }

  /// Handles at most `budget` messages and all available outcomes, and commits decisions. Returns
  /// the total number of messages, outcomes and decisions; 0 if idle.
  uint32_t Step(Nanoseconds now, uint32_t budget = 64) {
    if (channel_->PollLoss()) StartAnew(now);
    uint32_t done = 0;
    for (offload::Item item; done < budget && channel_->Receive(item); ++done) {
      if (!view_.Hear(DecodeMessage(item), now)) ++counters_.unknown_tasks;
    }
    counters_.messages += done;
    done += Resolve(now);
    done += FillIdle(now);
    done += Preempt(now);
    if (options_.prestage) done += Prestage(now);
    return done;
  }

  const AgentCounters& counters() const { return counters_; }
  /// Returns the task that, as far as the agent knows, runs on `cpu`.
  const Running& running(CpuId cpu) const { return view_.cpu(cpu).running; }
  uint32_t tasks() const { return view_.tasks(); }
  const P& policy() const { return view_.policy(); }

  /// Returns the first violated invariant, or null if there is none. For tests; checks all state.
  const char* Violation() { return view_.Violation(); }

 private:
  /// The last decision for a CPU.
  struct Decision {
    Gtid gtid = kNoTask;
    uint32_t barrier = 0;
    uint64_t losses = 0;  ///< AgentCounters::losses when the decision was made.
  };

  CpuId cpus() const { return static_cast<CpuId>(view_.cpus().size()); }

  /// Called after a loss, or after the host abandoned the agent. Pending decisions still receive
  /// outcomes, unless the host lost them (in_doubt_).
  void StartAnew(Nanoseconds now) {
    ++counters_.losses;
    view_.Clear(now);
    in_doubt_ = unresolved_;
    channel_->RequestRestart();
  }

  // Handling of outcomes.

  uint32_t Resolve(Nanoseconds now) {
    uint32_t resolved = 0;
    for (CpuMask left = unresolved_; left != 0; left &= left - 1) {
      const CpuId cpu = First(left);
      // Checked first, so that an outcome that arrives in between is not missed.
      const bool given_up = (in_doubt_ & MaskOf(cpu)) != 0 && channel_->CanCommit(cpu);
      offload::Item item;
      offload::Decided how = offload::Decided::kNone;
      if (channel_->PollOutcome(cpu, item, how)) {
        Resolve(cpu, DecodeOutcome(item), how == offload::Decided::kEnforced, now);
        ++resolved;
      } else if (given_up) {
        // The host lost its state, including this decision.
        Close(cpu);
      }
    }
    return resolved;
  }

  void Resolve(CpuId cpu, const Outcome& outcome, bool enforced, Nanoseconds now) {
    const Decision& decision = decisions_[cpu];
    const bool recalled = (recalled_ & MaskOf(cpu)) != 0;
    Close(cpu);
    if (enforced) {
      ++counters_.enforced;
      counters_.recalled_too_late += recalled;
      return view_.Enforced(cpu, decision.gtid, decision.barrier, now);
    }
    const auto status = static_cast<uint32_t>(outcome.status) - static_cast<uint32_t>(INT_MIN);
    if (status < kStatuses) {
      ++counters_.refused[status];
    } else {
      ++counters_.unknown_tasks;
    }
    if (recalled) {
      ++(outcome.status == Status::kAborted ? counters_.recalled_in_time
                                            : counters_.recalled_too_late);
    }
    switch (outcome.status) {
      case Status::kNoAgent:
        // Restarts once for all decisions with this outcome.
        if (decision.losses == counters_.losses) StartAnew(now);
        return;
      case Status::kTargetNotFound:
        return view_.NotFound(decision.gtid, now);
      case Status::kTargetStale:
      case Status::kTargetNotRunnable:
      case Status::kTargetOnCpu:
      case Status::kInvalidTarget:
      case Status::kNotPermitted:
        return Refused(cpu, outcome, false, now);
      case Status::kAborted:
      case Status::kPoisoned:
        return Refused(cpu, outcome, true, now);
      default:
        view_.Rest(cpu, now + options_.retry);
        return Refused(cpu, outcome, true, now);
    }
  }

  void Refused(CpuId cpu, const Outcome& outcome, bool blameless, Nanoseconds now) {
    const Decision& decision = decisions_[cpu];
    view_.Refused(cpu, decision.gtid, decision.barrier, outcome.task_barrier, outcome.task_flags,
                  blameless, now);
  }

  void Close(CpuId cpu) {
    const CpuMask others = ~MaskOf(cpu);
    unresolved_ &= others;
    prestaged_ &= others;
    recalled_ &= others;
    in_doubt_ &= others;
  }

  // Makes decisions: first for idle CPUs, then preemptions, then prestaged decisions.

  uint32_t FillIdle(Nanoseconds now) {
    uint32_t decided = 0;
    CpuMask unserved = 0;
    for (CpuId cpu = 0; cpu < cpus(); ++cpu) {
      if (view_.cpu(cpu).running.task != nullptr || !Open(cpu, now)) continue;
      KnownTask* const task = view_.Decide(cpu, now);
      if (task == nullptr) {
        unserved |= MaskOf(cpu);
        continue;
      }
      Commit(cpu, task, false);
      ++decided;
    }
    if constexpr (SharesTasks<P>) FetchFor(unserved);
    return decided;
  }

  uint32_t Preempt(Nanoseconds now) {
    uint32_t decided = 0;
    for (CpuId cpu = 0; cpu < cpus(); ++cpu) {
      if ((prestaged_ & ~recalled_ & MaskOf(cpu)) != 0) {
        if (!Stands(cpu, now)) Recall(cpu);
      } else if (Settled(cpu) && Open(cpu, now) &&
                 view_.policy().Preempts(view_.cpu(cpu).running, now)) {
        Commit(cpu, view_.Decide(cpu, now), false);
        ++counters_.preemptions;
        ++decided;
      }
    }
    return decided;
  }

  uint32_t Prestage(Nanoseconds now) {
    uint32_t decided = 0;
    for (CpuId cpu = 0; cpu < cpus(); ++cpu) {
      if (!Settled(cpu) || !Open(cpu, now)) continue;
      KnownTask* const task = view_.Decide(cpu, now);
      if (task == nullptr) continue;
      Commit(cpu, task, true);
      ++counters_.prestaged;
      ++decided;
    }
    return decided;
  }

  /// Returns whether a decision for `cpu` may be committed now.
  bool Open(CpuId cpu, Nanoseconds now) {
    const CpuView& view = view_.cpu(cpu);
    return (unresolved_ & MaskOf(cpu)) == 0 && !view.busy && view.rests_until <= now &&
           channel_->CanCommit(cpu);
  }

  /// Returns whether the CPU runs a task for which no replacement is decided.
  bool Settled(CpuId cpu) const {
    const CpuView& view = view_.cpu(cpu);
    return view.running.task != nullptr && view.latched == nullptr && !view.leaving;
  }

  /// Commits `task`; null removes the current task of the CPU.
  void Commit(CpuId cpu, const KnownTask* task, bool prestage) {
    Transaction transaction{.cpu = cpu, .commit_flags = prestage ? kCommitAtSchedule : uint16_t{0}};
    if (task != nullptr) {
      transaction.gtid = task->gtid;
      transaction.task_barrier = task->seqnum;
    }
    decisions_[cpu] = {transaction.gtid, transaction.task_barrier, counters_.losses};
    unresolved_ |= MaskOf(cpu);
    if (prestage) prestaged_ |= MaskOf(cpu);
    channel_->Commit(cpu, Encode(transaction),
                     prestage ? offload::Urgency::kPrestaged : offload::Urgency::kInterrupt);
    ++counters_.decisions;
  }

  // Prestaged decisions.

  /// Returns the task of the prestaged decision; null if it is no longer committed to the CPU.
  const KnownTask* Staged(CpuId cpu) {
    const KnownTask* const task = view_.Find(decisions_[cpu].gtid);
    const bool there = task != nullptr && task->where == Whereabouts::kCommitted && task->at == cpu;
    return there ? task : nullptr;
  }

  /// Returns false if the prestaged decision must be recalled.
  bool Stands(CpuId cpu, Nanoseconds now) {
    const CpuView& view = view_.cpu(cpu);
    if (view.busy) return false;
    if (view.running.task == nullptr) return now - view.running.since < options_.nudge;
    if (!Settled(cpu)) return true;  // Another switch of the CPU is imminent.
    const KnownTask* const staged = Staged(cpu);
    if (staged == nullptr || view_.policy().Supersedes(*staged, cpu, now)) return false;
    if constexpr (PreemptsForOne<P>) {
      return !view_.policy().PreemptsFor(view.running, *staged, now);
    }
    return true;
  }

  /// Recalls prestaged decisions of CPUs that run a task, if the prestaged task could run on a CPU
  /// of `idle`. Recalls at most one decision per idle CPU, including recalls in progress.
  void FetchFor(CpuMask idle) {
    const CpuMask waiting = prestaged_ & ~recalled_;
    int wanted = std::popcount(idle) - std::popcount(recalled_);
    for (CpuMask left = waiting; left != 0 && wanted > 0; left &= left - 1) {
      const CpuId from = First(left);
      const KnownTask* const staged = Staged(from);
      if (staged == nullptr || view_.cpu(from).running.task == nullptr) continue;
      for (CpuMask to = idle; to != 0; to &= to - 1) {
        if (!view_.policy().Serves(*staged, First(to))) continue;
        idle &= ~MaskOf(First(to));
        --wanted;
        Recall(from);
        break;
      }
    }
  }

  void Recall(CpuId cpu) {
    if (channel_->Recall(cpu)) recalled_ |= MaskOf(cpu);
  }

  static CpuId First(CpuMask cpus) { return static_cast<CpuId>(std::countr_zero(cpus)); }

  AgentOptions options_;
  AgentCounters counters_;
  C* channel_;
  AgentView<P> view_;
  std::array<Decision, kMaxCpus> decisions_{};
  /// CPUs whose decision has no outcome yet; superset of the masks below.
  CpuMask unresolved_ = 0;
  CpuMask prestaged_ = 0;
  CpuMask recalled_ = 0;
  CpuMask in_doubt_ = 0;  ///< The host may have lost the decision.
};

}  // namespace sluice::engine::sched
