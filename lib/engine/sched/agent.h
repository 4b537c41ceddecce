// SPDX-License-Identifier: BSD-3-Clause
//
// A scheduling agent: runs on a core of the NIC, hears what happened at the host, lets its policy
// choose, and commits the choices. It knows the host only by messages and outcomes, and both are
// late: what it commits names the state that it was made for, and a refusal leads to another
// choice from fresh state. One step function, so that it runs on an lcore, a thread, a fibre in
// virtual time alike.
//
// A task is in exactly one place: queued (with the policy), committed to a CPU and unresolved,
// on a CPU, or blocked (agent_view.h). After ghOSt's FIFO and Shinjuku agents. Prestaging is Wave's
// (docs/wave.md, "Prestaging"): one decision per CPU in advance, refilled when it was used,
// recalled when the policy prefers another.
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
  CpuId cpus = 1;              ///< The agent decides for CPUs 0 … cpus - 1.
  uint32_t max_tasks = 65536;  ///< Known at a time; more are not scheduled, and counted.
  bool prestage = false;       ///< Decide for CPUs that still run something.
  /// A CPU that idled for as long beside what was prestaged for it is woken: that came just after
  /// the CPU had looked.
  Nanoseconds nudge = 20'000;
  Nanoseconds retry = 1'000'000;  ///< A CPU that refuses whoever it is, is left alone for as long.
};

struct AgentCounters {
  uint64_t messages = 0;
  uint64_t decisions = 0;  ///< Transactions committed.
  uint64_t enforced = 0;
  std::array<uint64_t, kStatuses> refused{};  ///< By Status - kComplete.
  uint64_t preemptions = 0;                   ///< Decisions that take a CPU from somebody.
  uint64_t prestaged = 0;
  uint64_t recalled_in_time = 0;
  uint64_t recalled_too_late = 0;
  uint64_t losses = 0;  ///< Times that everything had to be learnt again.
  /// Messages about tasks that it does not know or has no room for, about CPUs that are not its
  /// own, and of no type; outcomes of no status.
  uint64_t unknown_tasks = 0;
};

/// `channel` outlives it. One thread.
template <typename P, offload::NicChannel C>
requires Policy<P>
class Agent {
 public:
  /// Knows nothing, and asks the host for every task.
  Agent(P policy, C& channel, const AgentOptions& options)
      : options_(options),
        channel_(&channel),
        view_(std::move(policy), options.cpus, options.max_tasks) {
    channel_->RequestRestart();
  }

  /// Hears, decides, commits. Returns messages, outcomes and decisions together: 0 is an idle
  /// step. Bounded work: at most `budget` messages.
  uint32_t Step(Nanoseconds now, uint32_t budget = 64) {
    if (channel_->TakeLoss()) StartAnew(now);
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
  /// As far as it knows.
  const Running& running(CpuId cpu) const { return view_.cpu(cpu).running; }
  uint32_t tasks() const { return view_.tasks(); }
  const P& policy() const { return view_.policy(); }

  /// What of the agent's account does not hold, or null (a check for tests; looks at everything).
  const char* Violation() { return view_.Violation(); }

 private:
  /// The last one for a CPU.
  struct Decision {
    Gtid gtid = kNoTask;
    uint32_t barrier = 0;
    uint64_t losses = 0;  ///< That there had been.
  };

  CpuId cpus() const { return static_cast<CpuId>(view_.cpus().size()); }

  /// After a loss, or when the host had given the agent up. Decisions under way still end.
  void StartAnew(Nanoseconds now) {
    ++counters_.losses;
    view_.Clear(now);
    in_doubt_ = unresolved_;
    channel_->RequestRestart();
  }

  // Outcomes.

  uint32_t Resolve(Nanoseconds now) {
    uint32_t resolved = 0;
    for (CpuMask left = unresolved_; left != 0; left &= left - 1) {
      const CpuId cpu = First(left);
      // Asked before, so that an outcome that comes in between is not missed.
      const bool given_up = (in_doubt_ & MaskOf(cpu)) != 0 && channel_->CanCommit(cpu);
      offload::Item item;
      offload::Decided how = offload::Decided::kNone;
      if (channel_->TakeOutcome(cpu, item, how)) {
        Resolve(cpu, DecodeOutcome(item), how == offload::Decided::kEnforced, now);
        ++resolved;
      } else if (given_up) {
        // The host lost its memory, and this decision with it.
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
        // Once for all decisions that met with this.
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

  // Decisions: idle CPUs first, then those that should run another, then beforehand.

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

  /// Whether a decision for `cpu` makes sense now.
  bool Open(CpuId cpu, Nanoseconds now) {
    const CpuView& view = view_.cpu(cpu);
    return (unresolved_ & MaskOf(cpu)) == 0 && !view.busy && view.rests_until <= now &&
           channel_->CanCommit(cpu);
  }

  /// Somebody runs there, and nobody else is to before that one leaves by itself.
  bool Settled(CpuId cpu) const {
    const CpuView& view = view_.cpu(cpu);
    return view.running.task != nullptr && view.latched == nullptr && !view.leaving;
  }

  /// `task` null: who runs there is to leave.
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

  // What was decided beforehand.

  /// Null: nobody, or not any more.
  const KnownTask* Staged(CpuId cpu) {
    const KnownTask* const task = view_.Find(decisions_[cpu].gtid);
    const bool there = task != nullptr && task->where == Whereabouts::kCommitted && task->at == cpu;
    return there ? task : nullptr;
  }

  /// Whether it may wait until the CPU schedules.
  bool Stands(CpuId cpu, Nanoseconds now) {
    const CpuView& view = view_.cpu(cpu);
    if (view.busy) return false;
    if (view.running.task == nullptr) return now - view.running.since < options_.nudge;
    if (!Settled(cpu)) return true;  // That is about to be.
    const KnownTask* const staged = Staged(cpu);
    if (staged == nullptr || view_.policy().Supersedes(*staged, cpu, now)) return false;
    if constexpr (PreemptsForOne<P>) {
      return !view_.policy().PreemptsFor(view.running, *staged, now);
    }
    return true;
  }

  /// Calls back what waits behind a running task and could run on a CPU of `idle`, one for each.
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
  CpuMask unresolved_ = 0;  ///< CPUs whose decision has no outcome yet; the others are among them.
  CpuMask prestaged_ = 0;
  CpuMask recalled_ = 0;
  CpuMask in_doubt_ = 0;  ///< The host may have lost its memory of the decision.
};

}  // namespace sluice::engine::sched
