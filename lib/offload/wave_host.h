// SPDX-License-Identifier: BSD-3-Clause
//
// The host's end of Wave's channel (Humphries et al., ASPLOS'25). Events use a one-way queue. Each
// slot has a line in which the agent publishes a transaction, and one in which the host publishes
// its outcome.
//
// A host that enforces a decision and an agent that recalls it cannot synchronize through one
// memory: the host may have the line in its cache when the agent writes to it. Therefore neither
// end can claim a decision. The host's ruling is authoritative, each transaction has an id, CANCEL
// is only a request, and only the outcome line shows which came first. Cached lines (write-through)
// are invalidated after each use and each read without a result, so that the next read or
// Prefetch() loads the current line.
//
// Used by one thread at a time. Calls for different slots may be interleaved if a window's reads
// let other tasks run (virtual time), because each call accesses only its slot's state. While this
// end exists, the agent's end may be replaced by one with a greater incarnation.
#pragma once

#include <cstdint>
#include <vector>

#include "bar/line_queue.h"
#include "bar/window.h"
#include "offload/item.h"
#include "offload/layout.h"
#include "offload/session.h"
#include "offload/slot_line.h"

namespace sluice::offload {

template <bar::WindowEnd W>
class WaveHost {
 public:
  /// `window` must have the lines of `layout` and outlive this object. `incarnation` must be
  /// greater than 0 and than that of every earlier host end on this window.
  WaveHost(W& window, const WaveLayout& layout, uint32_t incarnation)
      : window_(&window),
        layout_(layout),
        control_(window, layout.ControlLine(), incarnation),
        events_(window, layout.Queue(), control_.session().QueueStart()),
        slots_(layout.slots) {}

  // Functions of HostChannel. Until PollRestart() returns true, the channel has no agent and Send
  // fails.
  bool Send(const Item& item) {
    control_.PublishLosses();  // A loss must be reported before the next event.
    bar::Line line;
    for (uint32_t i = 0; i < item.word.size(); ++i) line.word[1 + i] = item.word[i];
    if (control_.session().met() && events_.Push(line)) return true;
    control_.Lose();
    return false;
  }
  bool Ask(Slot, const Item& item) { return Send(item); }
  void Lose() {
    control_.Lose();
    control_.PublishLosses();
  }
  void Flush() { control_.PublishLosses(); }
  uint32_t room() { return control_.session().met() ? events_.Room() : 0; }
  void Prefetch(Slot slot) { offload::Prefetch(*window_, layout_.LineOf(slot)); }
  bool Look(Slot slot, Item& out) {
    SlotLine decision;
    if (!Find(slot, decision) || decision.phase != SlotPhase::kReady) return false;
    out = decision.item;
    return true;
  }
  template <Judge J>
  Decided Decide(Slot slot, J& judge);
  bool PollRestart() {
    if (control_.Look()) {
      queue_faults_ += events_.faults();
      events_ = {*window_, layout_.Queue(), control_.session().QueueStart()};
      for (SlotState& slot : slots_) slot = {};
    }
    return control_.PollRestart();
  }
  uint64_t overflows() const { return control_.lost(); }
  uint64_t faults() const { return faults_ + queue_faults_ + events_.faults() + control_.faults(); }

  const WaveLayout& layout() const { return layout_; }

 private:
  struct SlotState {
    uint32_t decided = 0;  ///< Id of the last transaction that has an outcome.
    uint64_t faulty = 0;   ///< The last word 0 that was counted as a fault.
  };

  /// Reads the transaction that has no outcome yet. If there is none, invalidates the cached line
  /// and returns false.
  bool Find(Slot slot, SlotLine& out) {
    const uint32_t line = layout_.LineOf(slot);
    const uint64_t word0 = window_->Peek(line);
    bar::Line whole;
    if (IsNext(slot, word0, out) && window_->Poll(line, whole) &&
        out.Decode(whole, control_.session()) && IsNext(slot, whole.word[0], out)) {
      return true;
    }
    Forget(*window_);
    return false;
  }
  bool IsNext(Slot slot, uint64_t word0, SlotLine& out) {
    SlotState& state = slots_[slot];
    if (!out.DecodeWord0(word0, control_.session()) || out.txid == state.decided) return false;
    const bool sound = out.txid == state.decided + 1 &&
                       (out.phase == SlotPhase::kReady || out.phase == SlotPhase::kCancel);
    if (!sound && word0 != state.faulty) {
      state.faulty = word0;
      ++faults_;
    }
    return sound;
  }

  W* window_;
  WaveLayout layout_;
  HostControl<W> control_;
  bar::LineQueueProducer<W> events_;
  std::vector<SlotState> slots_;
  uint64_t queue_faults_ = 0;  ///< Faults of earlier sessions' queues.
  uint64_t faults_ = 0;
};

template <bar::WindowEnd W>
template <Judge J>
Decided WaveHost<W>::Decide(Slot slot, J& judge) {
  SlotLine decision;
  if (!Find(slot, decision)) return Decided::kNone;
  const uint32_t line = layout_.LineOf(slot);
  PreparePost(*window_, line);
  SlotLine outcome;
  outcome.txid = decision.txid;
  const Ruling ruling = decision.phase == SlotPhase::kCancel
                            ? RuleRecalled(judge, slot, decision.item, outcome.item)
                            : judge.Check(slot, decision.item, outcome.item);
  if (ruling != Ruling::kLater) {
    outcome.phase = ruling == Ruling::kEnforce ? SlotPhase::kEnforced : SlotPhase::kRefused;
    slots_[slot].decided = decision.txid;
    window_->Post(line, outcome.Encode(control_.session()));
    if (ruling == Ruling::kEnforce) judge.Apply(slot, decision.item);
  }
  Forget(*window_);
  if (ruling == Ruling::kLater) return Decided::kNone;
  return ruling == Ruling::kEnforce ? Decided::kEnforced : Decided::kRefused;
}

}  // namespace sluice::offload
