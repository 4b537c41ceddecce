// SPDX-License-Identifier: BSD-3-Clause
//
// The steps by which a host's CPU schedules, for any channel and clock: send messages to the agent,
// do the bookkeeping of the switch, poll for the decision, check the decision and enforce it. The
// order of the steps is Wave's (prefetch, message, bookkeeping, poll). The host also supervises the
// agent: watchdog, discovery after a restart, and local scheduling while there is no agent.
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <span>

#include "engine/sched/abi.h"
#include "engine/sched/kernel.h"
#include "engine/sched/outbox.h"
#include "engine/sched/slot_judge.h"
#include "engine/sched/sync_groups.h"
#include "offload/item.h"

namespace sluice::engine::sched {

/// Reason why a CPU schedules.
enum class Reason : uint8_t {
  kIdle,   ///< The CPU is idle; there may be new decisions.
  kBlock,  ///< The current task waits for an event.
  kYield,
  kExit,
  kPreempt,  ///< The agent or the time slice preempts the task.
};

struct HostOptions {
  /// The host abandons the agent if no decision has been enforced for this long although a task
  /// waits and a CPU idles; 20 ms as in Wave. 0 disables the watchdog.
  Nanoseconds watchdog = 20'000'000;
};

struct HostCounters {
  /// Results of transactions, indexed by Status - kComplete.
  std::array<uint64_t, kStatuses> statuses{};
  uint64_t prestage_hits = 0;   ///< schedule() found a decision that was enforced.
  uint64_t prestage_stale = 0;  ///< schedule() found a decision that was refused.
  uint64_t prestage_empty = 0;  ///< schedule() found no decision although there is an agent.
  uint64_t watchdog_expired = 0;
  uint64_t discoveries = 0;
  uint64_t local_choices = 0;  ///< Switches to a task that the host chose without an agent.
};

/// `kernel` and `channel` must outlive the host. Used by one thread at a time. However, while the
/// channel accesses its window, other fibres (in virtual time) may call methods for other CPUs.
/// Slot i of the channel belongs to CPU i.
///
/// A sync group is checked when each of its slots contains one of its decisions, and then enforced
/// as a whole at once; each CPU reports the result in its slot when it next looks at the slot. A
/// decision with kCommitAtSchedule waits for EndSwitch. While a task is latched, EndSwitch does not
/// read the slot, unless a group's verdict waits to be reported there.
template <offload::HostChannel C>
class SchedHost {
 public:
  SchedHost(Kernel& kernel, C& channel, const HostOptions& options);

  /// Sends pending messages to the agent. Must be called after any direct call to the kernel.
  void Forward();

  /// First half of schedule(): removes the current task from `cpu` for `reason`, sends messages and
  /// starts to fetch the decision. The caller's further work for the switch (accounting, task
  /// state) hides the latency of the fetch.
  void BeginSwitch(CpuId cpu, Reason reason, Nanoseconds now);
  /// Second half of schedule(): enforces the pending decision and returns the task to run. If it
  /// returns kNoTask, the CPU idles and must call Look when woken, or periodically.
  Gtid EndSwitch(CpuId cpu, Nanoseconds now);
  /// Called by an idle CPU, or by a running CPU at a safe point or after an interrupt: enforces
  /// decisions that need not wait for schedule(). Returns true if the CPU must schedule now
  /// (BeginSwitch with kIdle or kPreempt).
  ///
  /// If a CPU is offline or busy elsewhere, another thread must call this function for it as long
  /// as decisions for it may be pending. Otherwise these decisions are never refused, and their
  /// tasks wait.
  bool Look(CpuId cpu, Nanoseconds now);

  /// Called about every millisecond (a tick): handles the watchdog, new agents, and agents that
  /// lost events. When the watchdog expires, the agent is considered dead (SetAgent(false)) until
  /// an agent requests a restart. The watchdog does not count time without ticks, because a host
  /// that does not run cannot read decisions. While the host has no agent, Look() also checks for a
  /// new one.
  void Tick(Nanoseconds now);

  const HostCounters& counters() const { return counters_; }

 private:
  static constexpr CpuId kNobody = Outbox::kNobody;
  /// If the interval between two ticks exceeds both this value and a quarter of the watchdog time,
  /// the host is assumed not to have run.
  static constexpr Nanoseconds kLateTick = 2'000'000;

  offload::Decided Decide(CpuId cpu, SlotJudge& judge);
  SlotJudge JudgeAt(SlotJudge::Moment moment, Nanoseconds now) {
    return {*kernel_, groups_, moment, now, alive_};
  }
  bool RuleGroup(CpuId cpu, const Transaction& own, Nanoseconds now);
  void Deliver();
  bool SendOne(const Outbox::Outgoing& outgoing);
  void LookForAgent(Nanoseconds now);
  void GiveUp(Nanoseconds now);
  void Forget();

  Kernel* kernel_;
  C* channel_;
  HostOptions options_;
  HostCounters counters_;
  Outbox outbox_;
  SyncGroups groups_;
  bool looking_ = false;  ///< Whether a fibre is in LookForAgent().
  Nanoseconds last_time_ = 0;
  /// Time of the agent's last sign of life: a restart request, an enforced decision, or a discovery
  /// message for which the agent had made room in the channel. Advanced by intervals that the
  /// watchdog does not count.
  Nanoseconds alive_ = 0;
  Nanoseconds ticked_ = 0;  ///< Time of the last tick.
};

template <offload::HostChannel C>
SchedHost<C>::SchedHost(Kernel& kernel, C& channel, const HostOptions& options)
    : kernel_(&kernel),
      channel_(&channel),
      options_(options),
      outbox_(kernel.message_reserve()),
      groups_(kernel) {}

// --- Events ---------------------------------------------------------------------------------

template <offload::HostChannel C>
bool SchedHost<C>::SendOne(const Outbox::Outgoing& outgoing) {
  const offload::Item item = Encode(outgoing.message);
  // If the agent cannot be asked for a decision now, the message is sent as an event.
  if (outgoing.asker != kNobody && channel_->Ask(outgoing.asker, item)) return true;
  return channel_->Send(item);
}

template <offload::HostChannel C>
void SchedHost<C>::Deliver() {
  if (outbox_.state() != Outbox::State::kWaiting) return;
  const bool too_many = outbox_.BeginSending();
  bool sent = false;
  while (outbox_.HasNext()) {
    if (outbox_.pace() == Outbox::Pace::kAsRoomAllows && channel_->room() == 0) break;
    if (SendOne(outbox_.PopNext())) {
      sent = true;
    } else if (too_many) {
      outbox_.DropRest();
    }
  }
  if (outbox_.pace() == Outbox::Pace::kAsRoomAllows && sent) alive_ = last_time_;
  outbox_.ForgetSent();
  if (sent) channel_->Flush();
  outbox_.EndSending();
}

template <offload::HostChannel C>
void SchedHost<C>::Forward() {
  outbox_.Collect(*kernel_, kNobody);
  Deliver();
}

// --- Decisions ------------------------------------------------------------------------------

/// Reads the other members of the sync group of `own`, which is the decision for `cpu`. When all
/// have arrived, checks and enforces the group. Returns true if `cpu` has a verdict.
template <offload::HostChannel C>
bool SchedHost<C>::RuleGroup(CpuId cpu, const Transaction& own, Nanoseconds now) {
  std::array<Transaction, kMaxCpus> members;
  size_t count = 0;
  bool broken = false;
  for (CpuId other = 0; other < kernel_->cpus(); ++other) {
    if ((own.sync_group & MaskOf(other)) == 0) continue;
    Transaction member = own;
    if (other != cpu) {
      offload::Item item;
      const bool there = channel_->Look(other, item);
      // Another CPU may have decided during Look.
      if (groups_.VerdictOn(cpu, own)) return true;
      if (!there) return false;  // Not arrived yet.
      member = DecodeTransaction(item);
      // The slot contains a decision outside the group, or one that already has a verdict.
      if (member.sync_group != own.sync_group || member.cpu != other ||
          groups_.VerdictOn(other, member)) {
        broken = true;
        continue;
      }
    }
    members[count++] = member;
  }
  if (!kernel_->agent()) return false;  // The agent was lost during Look.
  groups_.Rule(std::span(members).first(count), broken, std::max(now, last_time_));
  return true;
}

template <offload::HostChannel C>
offload::Decided SchedHost<C>::Decide(CpuId cpu, SlotJudge& judge) {
  offload::Decided how = channel_->Decide(cpu, judge);
  if (how == offload::Decided::kNone && judge.waits_for_group() &&
      RuleGroup(cpu, *judge.waits_for_group(), judge.now())) {
    how = channel_->Decide(cpu, judge);
  }
  if (how == offload::Decided::kNone) return how;
  ++counters_.statuses[static_cast<uint32_t>(judge.status()) - static_cast<uint32_t>(INT_MIN)];
  groups_.Drop(cpu);
  return how;
}

// --- schedule() -----------------------------------------------------------------------------

template <offload::HostChannel C>
void SchedHost<C>::BeginSwitch(CpuId cpu, Reason reason, Nanoseconds now) {
  last_time_ = std::max(last_time_, now);
  // If the next task is already chosen, EndSwitch will not read the slot. In this case, nothing is
  // prefetched, because the data would be stale at the next use. No decision is requested either:
  // the agent would answer with its next decision, without an interrupt, and this CPU would miss
  // it.
  const bool chosen = kernel_->cpu(cpu).latched != kNoTask && !groups_.HasVerdict(cpu);
  if (!chosen) channel_->Prefetch(cpu);
  outbox_.Collect(*kernel_, kNobody);
  switch (reason) {
    case Reason::kIdle:
      break;
    case Reason::kBlock:
      kernel_->Block(cpu, now);
      break;
    case Reason::kYield:
      kernel_->Yield(cpu, now);
      break;
    case Reason::kExit:
      kernel_->Exit(kernel_->cpu(cpu).current, now);
      break;
    case Reason::kPreempt:
      kernel_->Preempt(cpu, false, now);
      break;
  }
  outbox_.Collect(*kernel_, chosen ? kNobody : cpu);
  Deliver();
}

template <offload::HostChannel C>
Gtid SchedHost<C>::EndSwitch(CpuId cpu, Nanoseconds now) {
  last_time_ = std::max(last_time_, now);
  if (kernel_->cpu(cpu).latched == kNoTask || groups_.HasVerdict(cpu)) {
    SlotJudge judge = JudgeAt(SlotJudge::Moment::kSchedule, now);
    switch (Decide(cpu, judge)) {
      case offload::Decided::kNone:
        counters_.prestage_empty += kernel_->agent();
        break;
      case offload::Decided::kEnforced:
        ++counters_.prestage_hits;
        break;
      case offload::Decided::kRefused:
        ++counters_.prestage_stale;
        break;
    }
  }
  const bool chosen = kernel_->cpu(cpu).latched != kNoTask;
  const Gtid gtid = kernel_->Switch(cpu, now);
  if (gtid != kNoTask && !chosen) ++counters_.local_choices;
  Forward();
  return gtid;
}

template <offload::HostChannel C>
bool SchedHost<C>::Look(CpuId cpu, Nanoseconds now) {
  last_time_ = std::max(last_time_, now);
  if (!kernel_->agent()) LookForAgent(now);
  SlotJudge judge = JudgeAt(SlotJudge::Moment::kLook, now);
  Decide(cpu, judge);
  Forward();
  const Cpu& c = kernel_->cpu(cpu);
  const bool may_take = c.current == kNoTask && c.available();
  return c.must_switch || (may_take && (judge.waits_for_schedule() || kernel_->HasNext(cpu)));
}

// --- The agent ------------------------------------------------------------------------------

/// Checks whether an agent requests a restart, and starts a discovery.
template <offload::HostChannel C>
void SchedHost<C>::LookForAgent(Nanoseconds now) {
  if (looking_) return;
  looking_ = true;
  const bool found = channel_->PollRestart();
  looking_ = false;
  if (!found) return;
  ++counters_.discoveries;
  Forget();
  outbox_.BeginDiscovery();
  kernel_->SetAgent(true, now);
  kernel_->Discover(now);
  alive_ = now;
}

/// Abandons the agent because the watchdog expired.
template <offload::HostChannel C>
void SchedHost<C>::GiveUp(Nanoseconds now) {
  ++counters_.watchdog_expired;
  Forget();
  kernel_->SetAgent(false, now);
  channel_->Lose();
}

/// Drops unsent messages and the verdicts on groups: the agent is gone, or a discovery follows.
template <offload::HostChannel C>
void SchedHost<C>::Forget() {
  kernel_->ClearMessages();
  outbox_.Forget();
  groups_.Clear();
}

template <offload::HostChannel C>
void SchedHost<C>::Tick(Nanoseconds now) {
  last_time_ = std::max(last_time_, now);
  LookForAgent(now);
  now = std::max(now, last_time_);  // Other fibres may have advanced the time during the call.
  const Nanoseconds gap = now - ticked_;
  ticked_ = now;
  if (gap > std::max(kLateTick, options_.watchdog / 4)) alive_ = std::min(now, alive_ + gap);
  if (kernel_->agent() && options_.watchdog != 0 && now - alive_ > options_.watchdog &&
      kernel_->Neglected(options_.watchdog, now)) {
    GiveUp(now);
  }
  Forward();
}

}  // namespace sluice::engine::sched
