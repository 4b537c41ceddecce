// SPDX-License-Identifier: BSD-3-Clause
//
// What a CPU of the host does when it schedules, over either channel and on either clock: tells
// the agent, does its own part of the switch, looks for the decision, checks it, enforces it. The
// order of the steps is Wave's (prefetch, message, own bookkeeping, poll). Also the host's care
// for its agent: watchdog, discovery after a restart, its own policy meanwhile.
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

/// Why a CPU schedules.
enum class Reason : uint8_t {
  kIdle,   ///< Nobody is on it; there may be news.
  kBlock,  ///< The task on it waits for something.
  kYield,
  kExit,
  kPreempt,  ///< The agent, or the time, wants the CPU back.
};

struct HostOptions {
  /// Wave's 20 ms: for longer no decision held, though somebody waits and a CPU idles. 0: never.
  Nanoseconds watchdog = 20'000'000;
};

struct HostCounters {
  std::array<uint64_t, kStatuses> statuses{};  ///< Of transactions, by Status - kComplete.
  uint64_t prestage_hits = 0;                  ///< schedule() found a decision, and it held.
  uint64_t prestage_stale = 0;                 ///< It found one that did not.
  uint64_t prestage_empty = 0;                 ///< It found none.
  uint64_t watchdog_expired = 0;
  uint64_t discoveries = 0;
  uint64_t local_choices = 0;  ///< Switches to a task that no agent chose.
};

/// `kernel` and `channel` outlive it. One thread at a time; but while the channel looks into its
/// window, others may call (fibres in virtual time), each for a CPU of its own. Slot i of the
/// channel is CPU i.
///
/// A sync group is ruled on when all its slots hold a decision of it. It is enforced as a whole in
/// that instant; each CPU says so in its own slot when it next looks there. kCommitAtSchedule
/// waits for EndSwitch. While somebody is latched, EndSwitch leaves the slot alone.
template <offload::HostChannel C>
class SchedHost {
 public:
  SchedHost(Kernel& kernel, C& channel, const HostOptions& options);

  /// After anything was done to the kernel other than through here: tells the agent.
  void Forward();

  /// schedule(), first half: takes the current task off `cpu` for `reason`, tells the agent, and
  /// starts to fetch its decision. What the host then does for the switch (accounts, state of the
  /// task) hides the way.
  void BeginSwitch(CpuId cpu, Reason reason, Nanoseconds now);
  /// Second half: enforces what waits, and returns who runs now; kNoTask: the CPU idles and is to
  /// look again (Look) when it was woken, or from time to time.
  Gtid EndSwitch(CpuId cpu, Nanoseconds now);
  /// An idle CPU, or a running one at a safe point or after an interrupt: enforces what need not
  /// wait for schedule(). True: the CPU is to schedule now (BeginSwitch; kIdle or kPreempt).
  /// Also for a CPU that is offline or busy elsewhere, by any thread in its stead, as long as
  /// decisions for it may be under way: what nobody looks at is never refused, and its task waits.
  bool Look(CpuId cpu, Nanoseconds now);

  /// Every millisecond or so (a tick): the watchdog, an agent that is new or lost events. Watchdog:
  /// the agent is taken for dead, SetAgent(false), until one says that it is there. Time in which
  /// the host itself did not tick does not count: without a CPU it sees no decision. Look() looks
  /// for an agent, too, while there is none.
  void Tick(Nanoseconds now);

  const HostCounters& counters() const { return counters_; }

 private:
  static constexpr CpuId kNobody = Outbox::kNobody;
  /// A host that has a CPU ticks more often.
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
  bool looking_ = false;  ///< Somebody is in LookForAgent().
  Nanoseconds last_time_ = 0;
  /// The agent's last sign (a decision held, or it made room), later by time that does not count.
  Nanoseconds alive_ = 0;
  Nanoseconds ticked_ = 0;  ///< The last tick.
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
  // A question that cannot be asked now is an event like others.
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
    if (SendOne(outbox_.TakeNext())) {
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

/// Looks for the rest of the group of which `own` waits for `cpu`. True: `cpu` has a verdict.
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
      // While it looked, another CPU may have ruled.
      if (groups_.VerdictOn(cpu, own)) return true;
      if (!there) return false;  // Under way.
      member = DecodeTransaction(item);
      // Another decision is in its place, or one that was ruled on with an earlier group.
      if (member.sync_group != own.sync_group || member.cpu != other ||
          groups_.VerdictOn(other, member)) {
        broken = true;
        continue;
      }
    }
    members[count++] = member;
  }
  if (!kernel_->agent()) return false;  // It went while this looked.
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
  // Who is next is known: EndSwitch will not look, so nothing is fetched that would be believed
  // later, and nothing is asked that the next decision, of which nobody is told then, would answer.
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

/// One that is there and knows nothing.
template <offload::HostChannel C>
void SchedHost<C>::LookForAgent(Nanoseconds now) {
  if (looking_) return;
  looking_ = true;
  const bool found = channel_->TakeRestart();
  looking_ = false;
  if (!found) return;
  ++counters_.discoveries;
  Forget();
  outbox_.BeginDiscovery();
  kernel_->SetAgent(true, now);
  kernel_->Discover(now);
  alive_ = now;
}

/// The agent is taken for dead.
template <offload::HostChannel C>
void SchedHost<C>::GiveUp(Nanoseconds now) {
  ++counters_.watchdog_expired;
  Forget();
  kernel_->SetAgent(false, now);
  channel_->Lose();
}

/// What was not told yet is void: no agent, or a discovery, comes next.
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
  now = std::max(now, last_time_);  // While it looked, others went on.
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
