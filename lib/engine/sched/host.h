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
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/sched/abi.h"
#include "engine/sched/kernel.h"
#include "offload/item.h"

namespace sluice::engine::sched {

/// Why a CPU schedules.
enum class Reason : uint8_t {
  kIdle,     ///< Nobody is on it; there may be news.
  kBlock,    ///< The task on it waits for something.
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
  uint64_t prestage_hits = 0;    ///< schedule() found a decision, and it held.
  uint64_t prestage_stale = 0;   ///< It found one that did not.
  uint64_t prestage_empty = 0;   ///< It found none.
  uint64_t watchdog_expired = 0;
  uint64_t discoveries = 0;
  uint64_t local_choices = 0;    ///< Switches to a task that no agent chose.
};

/// `kernel` and `channel` outlive it. One thread at a time; but while the channel looks into its
/// window, others may call (fibres in virtual time), each for a CPU of its own. Slot i of the
/// channel is CPU i.
///
/// A sync group is ruled on when all its slots hold a decision of it. It is enforced as a whole in
/// that instant; each CPU says so in its own slot when it next looks there. kCommitAtSchedule
/// waits for EndSwitch. While somebody is latched, EndSwitch leaves the slot alone.
template <offload::HostChannel C>
class Host {
 public:
  Host(Kernel& kernel, C& channel, const HostOptions& options);

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

  /// Now and then (a tick): the watchdog, an agent that is new or lost events. Watchdog: the agent
  /// is taken for dead, SetAgent(false), until one says that it is there. Look() looks for one,
  /// too, while there is none.
  void Tick(Nanoseconds now);

  const HostCounters& counters() const { return counters_; }

 private:
  static constexpr CpuId kNobody = kMaxCpus;

  /// What is to be sent; `asker` is the CPU that wants a decision with it, or kNobody.
  struct Outgoing {
    Message message;
    CpuId asker;
  };

  /// What a group came to for one of its slots, until the slot's own CPU has said so.
  struct Verdict {
    Transaction transaction;
    Status status;
  };

  /// Rules on one look of one CPU.
  struct SlotJudge {
    Host& host;
    Nanoseconds now;
    bool at_schedule;
    Status status = Status::kComplete;  ///< Of the last ruling but kLater.
    bool prestaged = false;             ///< kLater: waits for schedule().
    std::optional<Transaction> group{};  ///< kLater: its group was not ruled on.

    offload::Ruling Check(offload::Slot slot, const offload::Item& decision,
                          offload::Item& outcome);
    void Apply(offload::Slot slot, const offload::Item& decision);
    /// The decision was taken back before it held.
    void Recalled(offload::Slot slot, const offload::Item& decision, offload::Item& outcome);
  };

  offload::Decided Decide(CpuId cpu, SlotJudge& judge);
  bool RuleGroup(CpuId cpu, const Transaction& own, Nanoseconds now);
  void Revoke(CpuId cpu, Nanoseconds now);
  void Collect(CpuId asker);
  void Deliver();
  bool SendOne(const Outgoing& outgoing);
  void LookForAgent(Nanoseconds now);
  void GiveUp(Nanoseconds now);
  void Forget();

  Kernel* kernel_;
  C* channel_;
  HostOptions options_;
  HostCounters counters_;
  std::vector<Outgoing> outbox_;  ///< From `sent_` on not sent yet.
  size_t sent_ = 0;
  bool delivering_ = false;   ///< Somebody is in Deliver().
  bool looking_ = false;      ///< Somebody is in LookForAgent().
  bool paced_ = false;        ///< A discovery is under way: no faster than the channel has room.
  Nanoseconds last_time_ = 0;
  Nanoseconds alive_ = 0;     ///< The agent's last sign: a decision held, or it made room.
  std::array<std::optional<Verdict>, kMaxCpus> verdicts_;
};

template <offload::HostChannel C>
Host<C>::Host(Kernel& kernel, C& channel, const HostOptions& options)
    : kernel_(&kernel), channel_(&channel), options_(options) {
  outbox_.reserve(kernel.message_reserve());
}

// --- Events ---------------------------------------------------------------------------------

/// Takes the kernel's messages over; the last one asks for a decision for `asker`.
template <offload::HostChannel C>
void Host<C>::Collect(CpuId asker) {
  const auto messages = kernel_->messages();
  if (messages.empty()) return;
  // Nobody listens: a new agent is told everything anyway.
  if (kernel_->agent()) {
    for (const Message& message : messages) outbox_.push_back({message, kNobody});
    outbox_.back().asker = asker;
  }
  kernel_->ClearMessages();
}

template <offload::HostChannel C>
bool Host<C>::SendOne(const Outgoing& outgoing) {
  const offload::Item item = Encode(outgoing.message);
  // A question that cannot be asked now is an event like others.
  if (outgoing.asker != kNobody && channel_->Ask(outgoing.asker, item)) return true;
  return channel_->Send(item);
}

template <offload::HostChannel C>
void Host<C>::Deliver() {
  if (delivering_) return;
  if (sent_ == outbox_.size()) {
    paced_ = false;
    return;
  }
  delivering_ = true;
  bool flush = false;
  // More than this is never kept for an agent that does not listen: it then starts anew.
  const bool too_many = outbox_.size() - sent_ > kernel_->message_reserve();
  if (too_many) paced_ = false;
  while (sent_ < outbox_.size()) {
    if (paced_ && channel_->room() == 0) break;
    // By value: while it is sent, others may add.
    const Outgoing outgoing = outbox_[sent_++];
    if (SendOne(outgoing)) {
      flush = true;
    } else if (too_many) {
      sent_ = outbox_.size();
    }
  }
  if (paced_ && flush) alive_ = last_time_;
  if (sent_ == outbox_.size()) {
    outbox_.clear();
    sent_ = 0;
    paced_ = false;
  } else if (sent_ > outbox_.size() / 2) {
    outbox_.erase(outbox_.begin(), outbox_.begin() + static_cast<ptrdiff_t>(sent_));
    sent_ = 0;
  }
  if (flush) channel_->Flush();
  delivering_ = false;
}

template <offload::HostChannel C>
void Host<C>::Forward() {
  Collect(kNobody);
  Deliver();
}

// --- Decisions ------------------------------------------------------------------------------

template <offload::HostChannel C>
offload::Ruling Host<C>::SlotJudge::Check(offload::Slot slot, const offload::Item& decision,
                                          offload::Item& outcome) {
  const Transaction transaction = DecodeTransaction(decision);
  const auto cpu = static_cast<CpuId>(slot);
  if ((transaction.commit_flags & kCommitAtSchedule) != 0 && !at_schedule) {
    prestaged = true;
    return offload::Ruling::kLater;
  }
  status = host.kernel_->Check(cpu, transaction);
  const bool grouped = transaction.version == kAbiVersion && transaction.cpu == cpu &&
                       (transaction.sync_group & MaskOf(cpu)) != 0;
  if (grouped) {
    const auto& verdict = host.verdicts_[cpu];
    if (verdict && verdict->transaction == transaction) {
      status = verdict->status;
    } else if (host.kernel_->agent()) {
      group = transaction;
      return offload::Ruling::kLater;
    }
  }
  outcome = Encode(host.kernel_->Describe(cpu, transaction, status, now));
  return status == Status::kComplete ? offload::Ruling::kEnforce : offload::Ruling::kRefuse;
}

template <offload::HostChannel C>
void Host<C>::SlotJudge::Apply(offload::Slot slot, const offload::Item& decision) {
  host.alive_ = now;
  const Transaction transaction = DecodeTransaction(decision);
  auto& verdict = host.verdicts_[slot];
  if (verdict && verdict->transaction == transaction) {
    verdict.reset();  // Enforced with its group.
  } else {
    host.kernel_->Apply(transaction, now);
  }
}

template <offload::HostChannel C>
void Host<C>::SlotJudge::Recalled(offload::Slot slot, const offload::Item& decision,
                                  offload::Item& outcome) {
  const auto cpu = static_cast<CpuId>(slot);
  status = Status::kAborted;
  host.Revoke(cpu, now);
  outcome = Encode(host.kernel_->Describe(cpu, DecodeTransaction(decision), status, now));
}

/// What a group enforced on `cpu` is taken back, as far as it is still there.
template <offload::HostChannel C>
void Host<C>::Revoke(CpuId cpu, Nanoseconds now) {
  auto& verdict = verdicts_[cpu];
  if (!verdict) return;
  const Gtid gtid = verdict->transaction.gtid;
  if (verdict->status == Status::kComplete && gtid > 0) {
    if (kernel_->cpu(cpu).latched == gtid) kernel_->Unlatch(cpu, now);
    if (kernel_->cpu(cpu).current == gtid) kernel_->Preempt(cpu, false, now);
  }
  verdict.reset();
}

/// Looks for the rest of the group of which `own` waits for `cpu`. True: `cpu` has a verdict.
template <offload::HostChannel C>
bool Host<C>::RuleGroup(CpuId cpu, const Transaction& own, Nanoseconds now) {
  std::array<Transaction, kMaxCpus> members;
  std::array<Status, kMaxCpus> statuses;
  size_t count = 0;
  bool broken = false;
  for (CpuId other = 0; other < kernel_->cpus(); ++other) {
    if ((own.sync_group & MaskOf(other)) == 0) continue;
    Transaction member = own;
    if (other != cpu) {
      offload::Item item;
      const bool there = channel_->Look(other, item);
      // While it looked, another CPU may have ruled.
      if (verdicts_[cpu] && verdicts_[cpu]->transaction == own) return true;
      if (!there) return false;  // Under way.
      member = DecodeTransaction(item);
      // Another decision is in its place, or one that was ruled on with an earlier group.
      const auto& ruled = verdicts_[other];
      if (member.sync_group != own.sync_group || member.cpu != other ||
          (ruled && ruled->transaction == member)) {
        broken = true;
        continue;
      }
    }
    members[count++] = member;
  }
  const std::span<const Transaction> all(members.data(), count);
  const std::span<Status> results(statuses.data(), count);
  if (!kernel_->agent()) return false;  // It went while this looked.
  now = std::max(now, last_time_);
  for (const Transaction& member : all) Revoke(member.cpu, now);
  if (broken) {
    std::ranges::fill(results, Status::kPoisoned);
  } else {
    kernel_->ApplyGroup(all, results, now);
  }
  for (size_t i = 0; i < count; ++i) verdicts_[members[i].cpu] = Verdict{members[i], statuses[i]};
  return true;
}

template <offload::HostChannel C>
offload::Decided Host<C>::Decide(CpuId cpu, SlotJudge& judge) {
  offload::Decided how = channel_->Decide(cpu, judge);
  if (how == offload::Decided::kNone && judge.group &&
      RuleGroup(cpu, *judge.group, judge.now)) {
    how = channel_->Decide(cpu, judge);
  }
  if (how == offload::Decided::kNone) return how;
  ++counters_.statuses[static_cast<uint32_t>(judge.status) - static_cast<uint32_t>(INT_MIN)];
  verdicts_[cpu].reset();
  return how;
}

// --- schedule() -----------------------------------------------------------------------------

template <offload::HostChannel C>
void Host<C>::BeginSwitch(CpuId cpu, Reason reason, Nanoseconds now) {
  last_time_ = std::max(last_time_, now);
  // Who is next is known: EndSwitch will not look, so nothing is fetched that would be believed
  // later, and nothing is asked that the next decision, of which nobody is told then, would answer.
  const bool chosen = kernel_->cpu(cpu).latched != kNoTask && !verdicts_[cpu];
  if (!chosen) channel_->Prefetch(cpu);
  Collect(kNobody);
  switch (reason) {
    case Reason::kIdle: break;
    case Reason::kBlock: kernel_->Block(cpu, now); break;
    case Reason::kYield: kernel_->Yield(cpu, now); break;
    case Reason::kExit: kernel_->Exit(kernel_->cpu(cpu).current, now); break;
    case Reason::kPreempt: kernel_->Preempt(cpu, false, now); break;
  }
  Collect(chosen ? kNobody : cpu);
  Deliver();
}

template <offload::HostChannel C>
Gtid Host<C>::EndSwitch(CpuId cpu, Nanoseconds now) {
  last_time_ = std::max(last_time_, now);
  if (kernel_->cpu(cpu).latched == kNoTask || verdicts_[cpu]) {
    SlotJudge judge{*this, now, true};
    switch (Decide(cpu, judge)) {
      case offload::Decided::kNone: counters_.prestage_empty += kernel_->agent(); break;
      case offload::Decided::kEnforced: ++counters_.prestage_hits; break;
      case offload::Decided::kRefused: ++counters_.prestage_stale; break;
    }
  }
  const bool chosen = kernel_->cpu(cpu).latched != kNoTask;
  const Gtid gtid = kernel_->Switch(cpu, now);
  if (gtid != kNoTask && !chosen) ++counters_.local_choices;
  Forward();
  return gtid;
}

template <offload::HostChannel C>
bool Host<C>::Look(CpuId cpu, Nanoseconds now) {
  last_time_ = std::max(last_time_, now);
  if (!kernel_->agent()) LookForAgent(now);
  SlotJudge judge{*this, now, false};
  Decide(cpu, judge);
  Forward();
  const Cpu& c = kernel_->cpu(cpu);
  return c.must_switch ||
         (c.current == kNoTask && c.available() && (judge.prestaged || kernel_->HasNext(cpu)));
}

// --- The agent ------------------------------------------------------------------------------

/// One that is there and knows nothing.
template <offload::HostChannel C>
void Host<C>::LookForAgent(Nanoseconds now) {
  if (looking_) return;
  looking_ = true;
  const bool found = channel_->TakeRestart();
  looking_ = false;
  if (!found) return;
  ++counters_.discoveries;
  Forget();
  kernel_->SetAgent(true, now);
  kernel_->Discover(now);
  paced_ = true;
  alive_ = now;
}

/// The agent is taken for dead.
template <offload::HostChannel C>
void Host<C>::GiveUp(Nanoseconds now) {
  ++counters_.watchdog_expired;
  Forget();
  kernel_->SetAgent(false, now);
  channel_->Lose();
}

/// What was not told yet is void: no agent, or a discovery, comes next.
template <offload::HostChannel C>
void Host<C>::Forget() {
  kernel_->ClearMessages();
  outbox_.clear();
  sent_ = 0;
  paced_ = false;
  verdicts_.fill(std::nullopt);
}

template <offload::HostChannel C>
void Host<C>::Tick(Nanoseconds now) {
  last_time_ = std::max(last_time_, now);
  LookForAgent(now);
  now = std::max(now, last_time_);  // While it looked, others went on.
  if (kernel_->agent() && options_.watchdog != 0 && now - alive_ > options_.watchdog &&
             kernel_->Neglected(options_.watchdog, now)) {
    GiveUp(now);
  }
  Forward();
}

}  // namespace sluice::engine::sched
