// SPDX-License-Identifier: BSD-3-Clause
//
// The agent's end of Wave's channel. wave_host.h describes the protocol.
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
class WaveNic {
 public:
  /// `window` must outlive this object. `incarnation` must be greater than 0 and than that of every
  /// earlier agent end on this window. Once the host has detected this end, decisions of earlier
  /// ends are void.
  WaveNic(W& window, const WaveLayout& layout, uint32_t incarnation)
      : window_(&window),
        layout_(layout),
        control_(window, layout.ControlLine(), incarnation),
        events_(window, layout.Queue()),
        slots_(layout.slots) {}

  // Functions of NicChannel. Until the host has detected this end, Receive returns no events and
  // nothing can be committed.
  bool Receive(Item& out) {
    if (!control_.session().met() && !Look()) return false;
    bar::Line line;
    if (!events_.Pop(line)) return false;
    for (uint32_t i = 0; i < out.word.size(); ++i) out.word[i] = line.word[1 + i];
    return true;
  }
  bool PollLoss() {
    Look();
    return control_.PollLoss();
  }
  void RequestRestart() { control_.RequestRestart(); }
  bool CanCommit(Slot slot) const {
    return control_.session().met() && slots_[slot].own.phase == SlotPhase::kNone;
  }
  void Commit(Slot slot, const Item& item, Urgency urgency) {
    SlotLine& own = slots_[slot].own;
    own = {own.txid + 1, SlotPhase::kReady, item};
    Publish(slot);
    if (urgency == Urgency::kInterrupt) window_->Interrupt(slot);
  }
  bool Recall(Slot slot) {
    SlotLine& own = slots_[slot].own;
    if (own.phase != SlotPhase::kReady) return false;
    own.phase = SlotPhase::kCancel;
    Publish(slot);
    window_->Interrupt(slot);
    return true;
  }
  bool PollOutcome(Slot slot, Item& out, Decided& how);
  uint64_t faults() const { return faults_ + queue_faults_ + events_.faults() + control_.faults(); }

  const WaveLayout& layout() const { return layout_; }

 private:
  struct SlotState {
    SlotLine own;         ///< The agent's line; kNone means that the transaction has ended.
    uint64_t faulty = 0;  ///< The last word 0 that was counted as a fault.
  };

  /// Polls the control pair. Returns whether a host is known.
  bool Look() {
    if (control_.Look()) {
      queue_faults_ += events_.faults();
      events_ = {*window_, layout_.Queue(), control_.session().QueueStart()};
      for (SlotState& slot : slots_) slot = {};
    }
    return control_.session().met();
  }
  void Publish(Slot slot) {
    window_->Post(layout_.LineOf(slot), slots_[slot].own.Encode(control_.session()));
  }
  bool IsOutcome(SlotState& state, uint64_t word0, SlotLine& out);

  W* window_;
  WaveLayout layout_;
  NicControl<W> control_;
  bar::LineQueueConsumer<W> events_;
  std::vector<SlotState> slots_;
  uint64_t queue_faults_ = 0;  ///< Faults of earlier sessions' queues.
  uint64_t faults_ = 0;
};

template <bar::WindowEnd W>
bool WaveNic<W>::PollOutcome(Slot slot, Item& out, Decided& how) {
  SlotState& state = slots_[slot];
  if (state.own.phase == SlotPhase::kNone) return false;
  const uint32_t line = layout_.LineOf(slot);
  SlotLine host;
  bar::Line whole;
  const bool ended = IsOutcome(state, window_->Peek(line), host) && window_->Poll(line, whole) &&
                     host.Decode(whole, control_.session()) &&
                     IsOutcome(state, whole.word[0], host);
  Forget(*window_);
  if (!ended) return false;
  state.own.phase = SlotPhase::kNone;
  out = host.item;
  how = host.phase == SlotPhase::kEnforced ? Decided::kEnforced : Decided::kRefused;
  return true;
}

template <bar::WindowEnd W>
bool WaveNic<W>::IsOutcome(SlotState& state, uint64_t word0, SlotLine& out) {
  if (!out.DecodeWord0(word0, control_.session()) || out.txid == state.own.txid - 1) return false;
  const bool sound = out.txid == state.own.txid &&
                     (out.phase == SlotPhase::kEnforced || out.phase == SlotPhase::kRefused);
  if (!sound && word0 != state.faulty) {
    state.faulty = word0;
    ++faults_;
  }
  return sound;
}

}  // namespace sluice::offload
