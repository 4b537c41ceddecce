// SPDX-License-Identifier: BSD-3-Clause
//
// Wrappers around lib/offload channels. They record messages and decisions for the staleness
// statistics and add the agent's computing time, but do not change any decision.
#pragma once

#include <cstdint>
#include <utility>

#include "engine/sched/abi.h"
#include "offload/item.h"
#include "simulation/processor.h"
#include "simulation/sched/staleness.h"

namespace sluice::simulation {

/// The host end of a channel. All constructor arguments must outlive this object.
template <offload::HostChannel C>
class ObservedHost {
 public:
  ObservedHost(C& channel, StalenessLog& log, const fabric::EventQueue& queue)
      : channel_(&channel), log_(&log), queue_(&queue) {}

  bool Send(const offload::Item& item) { return Told(item, channel_->Send(item)); }
  bool Ask(offload::Slot slot, const offload::Item& item) {
    return Told(item, channel_->Ask(slot, item));
  }
  void Flush() { channel_->Flush(); }
  void Prefetch(offload::Slot slot) { channel_->Prefetch(slot); }
  bool Look(offload::Slot slot, offload::Item& out) { return channel_->Look(slot, out); }
  bool PollRestart() { return channel_->PollRestart(); }
  uint32_t room() { return channel_->room(); }
  void Lose() { channel_->Lose(); }
  uint64_t overflows() const { return channel_->overflows(); }
  uint64_t faults() const { return channel_->faults(); }

  template <offload::Judge J>
  offload::Decided Decide(offload::Slot slot, J& judge) {
    ObservedJudge<J> observed{&judge, this};
    return channel_->Decide(slot, observed);
  }

 private:
  template <typename J>
  struct ObservedJudge {
    offload::Ruling Check(offload::Slot slot, const offload::Item& decision,
                          offload::Item& outcome) {
      const offload::Ruling ruling = judge->Check(slot, decision, outcome);
      if (ruling != offload::Ruling::kLater) host->Ruled(decision, outcome);
      return ruling;
    }
    void Apply(offload::Slot slot, const offload::Item& decision) { judge->Apply(slot, decision); }
    void Recalled(offload::Slot slot, const offload::Item& decision, offload::Item& outcome) {
      judge->Recalled(slot, decision, outcome);
      host->Ruled(decision, outcome);
    }
    J* judge;
    ObservedHost* host;
  };

  bool Told(const offload::Item& item, bool sent) {
    const engine::sched::Message message = engine::sched::DecodeMessage(item);
    if (sent && message.gtid > 0) log_->Told(message.gtid, message.seqnum, queue_->now());
    return sent;
  }
  void Ruled(const offload::Item& decision, const offload::Item& outcome) {
    log_->Ruled(engine::sched::DecodeTransaction(decision), engine::sched::DecodeOutcome(outcome),
                queue_->now());
  }

  C* channel_;
  StalenessLog* log_;
  const fabric::EventQueue* queue_;
};

/// The NIC end of a channel, for an agent that spends `compute` of processor time before each
/// decision.
template <offload::NicChannel C>
class ThinkingNic {
 public:
  ThinkingNic(C& channel, StalenessLog& log, Processor& processor, Picoseconds compute,
              Picoseconds oneway)
      : channel_(&channel),
        log_(&log),
        processor_(&processor),
        compute_(compute),
        oneway_(oneway) {}

  bool Receive(offload::Item& out) {
    if (channel_->Receive(out)) return true;
    const Picoseconds now = processor_->now();
    horizon_ = now > oneway_ ? now - oneway_ : 0;
    return false;
  }
  bool PollLoss() { return channel_->PollLoss(); }
  void RequestRestart() { channel_->RequestRestart(); }
  bool CanCommit(offload::Slot slot) { return channel_->CanCommit(slot); }
  void Commit(offload::Slot slot, const offload::Item& item, offload::Urgency urgency) {
    processor_->Compute(compute_);
    log_->Committed(engine::sched::DecodeTransaction(item).gtid, horizon_);
    channel_->Commit(slot, item, urgency);
  }
  bool Recall(offload::Slot slot) { return channel_->Recall(slot); }
  bool PollOutcome(offload::Slot slot, offload::Item& out, offload::Decided& how) {
    return channel_->PollOutcome(slot, out, how);
  }
  uint64_t faults() const { return channel_->faults(); }

 private:
  C* channel_;
  StalenessLog* log_;
  Processor* processor_;
  Picoseconds compute_;
  Picoseconds oneway_;
  Picoseconds horizon_ = 0;
};

}  // namespace sluice::simulation
