// SPDX-License-Identifier: BSD-3-Clause
//
// The channel made of swaps, the agent's end; swap_host.h says how it works. An agent that looks
// for events looks at one line of the ring and at one for each slot that may ask.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "bar/window.h"
#include "offload/item.h"
#include "offload/layout.h"
#include "offload/session.h"
#include "offload/swap_links.h"
#include "swap/port.h"

namespace sluice::offload {

template <bar::WindowEnd W>
class SwapNic {
 public:
  /// As WaveNic.
  SwapNic(W& window, const SwapLayout& layout, uint32_t incarnation)
      : window_(&window),
        layout_(layout),
        control_(window, layout.ControlLine(), incarnation),
        links_(layout),
        slots_(layout.slots),
        // As many as can be under way: from the oldest that was not received to the newest.
        asked_(std::bit_ceil(layout.queue_depth + layout.slots)) {}

  // NicChannel.
  bool Receive(Item& out);
  bool TakeLoss() {
    Look();
    return control_.TakeLoss();
  }
  void RequestRestart() { control_.RequestRestart(); }
  bool CanCommit(Slot slot) const {
    return up_ && slots_[slot].decision == Decision::kNone && links_.offers[slot].end().CanOffer();
  }
  /// Answers the ask of `slot`, if one is open and the decision is for now; else offers it.
  void Commit(Slot slot, const Item& item, Urgency urgency);
  bool Recall(Slot slot) {
    if (!up_ || slots_[slot].decision != Decision::kOffered || !links_.offers[slot].Cancel()) {
      return false;
    }
    window_->Interrupt(slot);
    return true;
  }
  bool TakeOutcome(Slot slot, Item& out, Decided& how);
  uint64_t faults() const { return faults_ + links_.Faults() + control_.faults(); }

  const SwapLayout& layout() const { return layout_; }

 private:
  static constexpr uint32_t kNobody = ~uint32_t{0};

  enum class Ask : uint8_t { kNone, kNumbered, kOpen, kAnswered };
  enum class Decision : uint8_t { kNone, kOffered, kAnswered };
  struct SlotState {
    Ask ask = Ask::kNone;
    Decision decision = Decision::kNone;
    bool passed = false;  ///< An offer was enforced since: who asked may run somebody.
  };

  /// Takes an event if it is the next.
  struct Ear {
    swap::Answer Evaluate(const swap::Message&, swap::Reply&) {
      heard = true;
      return link->number() == number ? swap::Answer::kTrue : swap::Answer::kLater;
    }
    const ItemResponder<W>* link;
    uint32_t number;
    bool heard = false;
  };
  /// Holds out a decision.
  struct Hand {
    swap::Answer Evaluate(const swap::Message&, swap::Reply& reply) const {
      reply.key = item->word[0];
      reply.payload = PayloadOf(*item);
      return swap::Answer::kTrue;
    }
    const Item* item;
  };

  /// Looks at the control pair, and meets the host's ends. Whether all are met.
  bool Look();
  void Join();
  /// The next one if it is an ask that is known already.
  bool ReceiveAsk(Item& out);
  bool ReceiveEvent(Item& out);
  /// Learns the numbers of new asks.
  void LookForAsks();
  W* window_;
  SwapLayout layout_;
  NicControl<W> control_;
  HalfLinks<ItemResponder<W>, ItemInitiator<W>, ItemResponder<W>> links_;
  std::vector<SlotState> slots_;
  std::vector<uint32_t> asked_;  ///< By number, modulo its size: who asked.
  bool up_ = false;              ///< Every half-link has met the host's.
  bool head_heard_ = false;      ///< The next event of the ring is here, and not the next of all.
  uint32_t next_ = 0;            ///< Number of the next ask or event.
  uint64_t taken_ = 0;           ///< Events, asks not among them.
  uint64_t faults_ = 0;
};

template <bar::WindowEnd W>
bool SwapNic<W>::Look() {
  if (control_.Look()) Join();
  if (!up_ && control_.session().met()) up_ = links_.Meet(control_.session().host);
  return up_;
}

template <bar::WindowEnd W>
void SwapNic<W>::Join() {
  faults_ += links_.Faults();
  links_.Clear();
  std::ranges::fill(slots_, SlotState{});
  std::ranges::fill(asked_, kNobody);
  up_ = head_heard_ = false;
  next_ = 0;
  taken_ = 0;
  const AgentSession& session = control_.session();
  if (!session.met()) return;
  const swap::Responder asked(swap::kFourMessage, session.Epoch(), session.agent);
  const swap::Responder receiver(swap::kTwoMessage, session.Epoch(), session.agent);
  const swap::Initiator offerer(swap::kTwoMessage, session.Epoch(), session.agent);
  links_.Make(*window_, layout_, asked, offerer, receiver);
}

template <bar::WindowEnd W>
bool SwapNic<W>::Receive(Item& out) {
  if (!up_ && !Look()) return false;
  if (ReceiveAsk(out) || ReceiveEvent(out)) return true;
  if (!layout_.asks) return false;
  LookForAsks();
  return ReceiveAsk(out);
}

template <bar::WindowEnd W>
bool SwapNic<W>::ReceiveAsk(Item& out) {
  uint32_t& asked = asked_[next_ & (asked_.size() - 1)];
  if (asked == kNobody) return false;
  slots_[asked].ask = Ask::kOpen;
  links_.asks[asked].Prepare();
  out = ItemOf(links_.asks[asked].offer());
  asked = kNobody;
  next_ = (next_ + 1) & kNumberMask;
  return true;
}

template <bar::WindowEnd W>
bool SwapNic<W>::ReceiveEvent(Item& out) {
  ItemResponder<W>& link = links_.events[taken_ % layout_.queue_depth];
  Ear ear{&link, next_};
  const swap::Event event = link.Poll(ear, head_heard_);
  if (ear.heard) head_heard_ = true;
  if (event == swap::Event::kNothing) return false;
  head_heard_ = false;
  if (event != swap::Event::kCommitted) {
    ++faults_;  // Nobody takes an event back.
    return false;
  }
  out = ItemOf(link.offer());
  next_ = (next_ + 1) & kNumberMask;
  ++taken_;
  return true;
}

template <bar::WindowEnd W>
void SwapNic<W>::LookForAsks() {
  for (Slot slot = 0; slot < layout_.slots; ++slot) {
    if (slots_[slot].ask != Ask::kNone) continue;
    Ear ear{&links_.asks[slot], kNobody};
    if (links_.asks[slot].Poll(ear) != swap::Event::kNothing) ++faults_;
    if (!ear.heard) continue;
    slots_[slot].ask = Ask::kNumbered;
    const uint32_t number = links_.asks[slot].number();
    uint32_t& asked = asked_[number & (asked_.size() - 1)];
    if (((number - next_) & kNumberMask) >= asked_.size() || asked != kNobody) {
      ++faults_;  // It is never received.
      continue;
    }
    asked = slot;
  }
}

template <bar::WindowEnd W>
void SwapNic<W>::Commit(Slot slot, const Item& item, Urgency urgency) {
  SlotState& state = slots_[slot];
  if (state.ask == Ask::kOpen && urgency == Urgency::kInterrupt) {
    Hand hand{&item};
    if (links_.asks[slot].Answer(hand) == swap::Event::kHeld) {
      // Who asked and has nobody looks; but looks that cost a read each it does not repeat for
      // long.
      const bool looks =
          !state.passed && (window_->capabilities() & bar::kWindowNicStoresHost) != 0;
      state = {Ask::kAnswered, Decision::kAnswered};
      if (!looks) window_->Interrupt(slot);
      return;
    }
  }
  links_.offers[slot].Offer(item, 0);
  state.decision = Decision::kOffered;
  if (urgency == Urgency::kInterrupt) window_->Interrupt(slot);
}

template <bar::WindowEnd W>
bool SwapNic<W>::TakeOutcome(Slot slot, Item& out, Decided& how) {
  if (!up_) return false;
  SlotState& state = slots_[slot];
  if (state.decision == Decision::kOffered) {
    const auto result = links_.offers[slot].Poll();
    if (!result) return false;
    state.decision = Decision::kNone;
    how = result->outcome == swap::Outcome::kCommitted ? Decided::kEnforced : Decided::kRefused;
    state.passed = state.passed || how == Decided::kEnforced;
    out = ItemOf(result->key, result->payload);
    if (result->outcome != swap::Outcome::kOrphaned) return true;
  } else if (state.decision == Decision::kAnswered) {
    Deaf deaf;
    const swap::Event event = links_.asks[slot].Poll(deaf);
    if (event == swap::Event::kNothing) return false;
    state = {};
    how = event == swap::Event::kCommitted ? Decided::kEnforced : Decided::kRefused;
    out = ItemOf(links_.asks[slot].offer());
    if (event != swap::Event::kOrphaned) return true;
  } else {
    return false;
  }
  ++faults_;  // Whoever loses its memory begins another session.
  return false;
}

}  // namespace sluice::offload
