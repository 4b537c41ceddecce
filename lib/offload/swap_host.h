// SPDX-License-Identifier: BSD-3-Clause
//
// The host's end of a swap channel (lib/swap). Each slot has two half-links:
//
//   asks     The host offers its event and gets the decision as the answer, in four messages. The
//            host must see the decision before it commits, so the host is the commit point, and its
//            closing line contains the outcome. With two messages and the outcome in the next
//            offer, the bytes would be halved (88 / 88 instead of 176 / 176). However, an offer of
//            40 bytes has no space for an outcome of 40 bytes, and the agent would not know the
//            outcome until the asking CPU's next event, a whole time slice later. The cost of four
//            messages is that the slot's next ask waits for one more round trip (758 ns). An event
//            that comes earlier is sent without a swap for its slot, and the agent answers it with
//            an offer.
//   offers   The agent offers a decision in two messages, on condition that the state is still the
//            one that it saw. The host is the responder and the commit point. When it polls, it
//            evaluates the condition with Check(); a rejection contains the current state. The
//            offer may stand until it is needed, as a prestaged decision.
//
// Events that need no decision are swaps on a separate ring of half-links, each acknowledged. Asks
// and events are numbered in the order in which they are sent.
//
// A decision that answers an ask cannot be recalled, because the agent is the responder. If an
// agent may have to recall a decision, it must offer it. lib/swap implements retained outcomes,
// incarnations and epochs. The window is not read between Check() and Apply().
//
// Used by one thread at a time; wave_host.h describes which calls may be interleaved and how an end
// may be replaced.
#pragma once

#include <algorithm>
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
class SwapHost {
 public:
  /// Parameters as for WaveHost.
  SwapHost(W& window, const SwapLayout& layout, uint32_t incarnation)
      : window_(&window),
        layout_(layout),
        control_(window, layout.ControlLine(), incarnation),
        links_(layout),
        waits_(layout.slots) {}

  // Functions of HostChannel.
  bool Send(const Item& item) {
    control_.PublishLosses();  // A loss must be reported before the next event.
    if (!up_ || !IsFree(sent_)) {
      control_.Lose();
      return false;
    }
    links_.events[sent_++ % layout_.queue_depth].Offer(item, number_++);
    return true;
  }
  bool Ask(Slot slot, const Item& item) {
    if (!up_ || !layout_.asks) return Send(item);
    ItemInitiator<W>& ask = links_.asks[slot];
    if (!ask.end().CanOffer()) PollAsk(ask);
    if (!ask.end().CanOffer()) return Send(item);
    control_.PublishLosses();
    ask.Offer(item, number_++);
    return true;
  }
  void Lose() {
    control_.Lose();
    control_.PublishLosses();
  }
  void Flush() { control_.PublishLosses(); }
  uint32_t room() {
    uint32_t free = 0;
    while (up_ && free < layout_.queue_depth && IsFree(sent_ + free)) ++free;
    return free;
  }
  void Prefetch(Slot slot) {
    if (layout_.asks && links_.asks[slot].end().Unresolved()) {
      offload::Prefetch(*window_, layout_.AskLine(slot));
    }
    offload::Prefetch(*window_, layout_.OfferLine(slot));
  }
  bool Look(Slot slot, Item& out);
  template <Judge J>
  Decided Decide(Slot slot, J& judge);
  bool PollRestart() {
    if (control_.Look()) Join();
    if (!up_ && control_.session().met()) up_ = Meet();
    return up_ && control_.PollRestart();
  }
  uint64_t overflows() const { return control_.lost(); }
  /// If a peer violates the protocol, its half-link stops until the next session, and one fault is
  /// counted.
  uint64_t faults() const { return faults_ + links_.Faults() + control_.faults(); }

  const SwapLayout& layout() const { return layout_; }

 private:
  /// Evaluates the offer for `slot` with `judge`.
  template <Judge J>
  struct Condition {
    swap::Answer Evaluate(const swap::Message& offer, swap::Reply& reply) {
      Item outcome;
      const Item decision = ItemOf(offer);
      ruling = offer.phase == swap::Phase::kCancel ? RuleRecalled(*judge, slot, decision, outcome)
                                                   : judge->Check(slot, decision, outcome);
      reply.key = outcome.word[0];
      reply.payload = PayloadOf(outcome);
      if (ruling == Ruling::kLater) return swap::Answer::kLater;
      return ruling == Ruling::kEnforce ? swap::Answer::kTrue : swap::Answer::kFalse;
    }
    Slot slot;
    J* judge;
    Ruling ruling = Ruling::kRefuse;
  };

  /// Begins the session with a new agent. Restarts every half-link.
  void Join();
  /// Continues to connect the half-links to the agent's ends. Returns true once every half-link
  /// knows its peer's incarnation.
  bool Meet();
  void PollAsk(ItemInitiator<W>& ask) {
    if (!ask.end().Unresolved() || ask.end().state() == swap::State::kValidate) return;
    ask.Poll();
    Forget(*window_);
  }
  /// Returns whether the half-link for event `number` is free.
  bool IsFree(uint64_t number) {
    ItemInitiator<W>& link = links_.events[number % layout_.queue_depth];
    if (link.end().CanOffer()) return true;
    const auto result = link.Poll();
    // Counted as a fault, because an agent accepts every event.
    if (result && result->outcome != swap::Outcome::kCommitted) ++faults_;
    Forget(*window_);
    return link.end().CanOffer();
  }
  template <Judge J>
  Decided DecideAnswer(Slot slot, J& judge);
  W* window_;
  SwapLayout layout_;
  HostControl<W> control_;
  HalfLinks<ItemInitiator<W>, ItemResponder<W>, ItemInitiator<W>> links_;
  /// For each slot, whether its offer was read and must be evaluated again.
  std::vector<uint8_t> waits_;
  bool up_ = false;      ///< Whether every half-link knows its peer's incarnation.
  uint32_t number_ = 0;  ///< Number of the next ask or event.
  uint64_t sent_ = 0;    ///< Number of events sent, excluding asks.
  uint64_t faults_ = 0;
};

template <bar::WindowEnd W>
void SwapHost<W>::Join() {
  // Cleared first, because a post may let other tasks run, and these must not use links that are
  // not ready.
  up_ = false;
  faults_ += links_.Faults();
  const AgentSession& session = control_.session();
  const swap::Initiator asker(swap::kFourMessage, session.Epoch(), session.host);
  const swap::Initiator sender(swap::kTwoMessage, session.Epoch(), session.host);
  const swap::Responder owner(swap::kTwoMessage, session.Epoch(), session.host);
  links_.Clear();
  links_.Make(*window_, layout_, asker, owner, sender);
  std::ranges::fill(waits_, false);
  number_ = 0;
  sent_ = 0;
}

template <bar::WindowEnd W>
bool SwapHost<W>::Meet() {
  const bool met = links_.Meet(control_.session().agent);
  Forget(*window_);
  return met;
}

template <bar::WindowEnd W>
bool SwapHost<W>::Look(Slot slot, Item& out) {
  if (!up_) return false;
  if (layout_.asks) {
    PollAsk(links_.asks[slot]);
    if (links_.asks[slot].end().state() == swap::State::kValidate) {
      out = ItemOf(links_.asks[slot].end().answer());
      return true;
    }
  }
  if (links_.offers[slot].Waiting(out)) return true;
  Forget(*window_);
  return false;
}

template <bar::WindowEnd W>
template <Judge J>
Decided SwapHost<W>::Decide(Slot slot, J& judge) {
  if (!up_) return Decided::kNone;
  if (layout_.asks) {
    const Decided decided = DecideAnswer(slot, judge);
    if (decided != Decided::kNone) return decided;
  }
  ItemResponder<W>& offers = links_.offers[slot];
  Condition<J> condition{slot, &judge};
  const swap::Event event = offers.Poll(condition, waits_[slot] != 0);
  Decided decided = Decided::kNone;
  if (event == swap::Event::kCommitted) {
    judge.Apply(slot, ItemOf(offers.offer()));
    decided = Decided::kEnforced;
  } else if (event == swap::Event::kRejected) {
    decided = Decided::kRefused;
  }
  if (event != swap::Event::kNothing) waits_[slot] = false;
  if (condition.ruling == Ruling::kLater) waits_[slot] = true;
  Forget(*window_);
  return decided;
}

template <bar::WindowEnd W>
template <Judge J>
Decided SwapHost<W>::DecideAnswer(Slot slot, J& judge) {
  ItemInitiator<W>& ask = links_.asks[slot];
  PollAsk(ask);
  if (ask.end().state() != swap::State::kValidate) return Decided::kNone;
  ask.Prepare();
  const Item decision = ItemOf(ask.end().answer());
  Item outcome;
  const Ruling ruling = judge.Check(slot, decision, outcome);
  if (ruling == Ruling::kLater) return Decided::kNone;
  ask.Close(ruling == Ruling::kEnforce, outcome);
  if (ruling != Ruling::kEnforce) return Decided::kRefused;
  judge.Apply(slot, decision);
  return Decided::kEnforced;
}

}  // namespace sluice::offload
