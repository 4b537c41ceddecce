// SPDX-License-Identifier: BSD-3-Clause
//
// The agent's end of a swap channel. swap_host.h describes the protocol. To find events, an agent
// polls one line of the ring and one line for each slot that may ask.
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
  /// Parameters as for WaveNic.
  SwapNic(W& window, const SwapLayout& layout, uint32_t incarnation)
      : window_(&window),
        layout_(layout),
        control_(window, layout.ControlLine(), incarnation),
        links_(layout),
        slots_(layout.slots),
        // Has capacity for all pending asks and events, from the oldest unreceived one to the
        // newest.
        asked_(std::bit_ceil(layout.queue_depth + layout.slots)) {}

  // Functions of NicChannel.
  bool Receive(Item& out);
  bool PollLoss() {
    Look();
    return control_.PollLoss();
  }
  void RequestRestart() { control_.RequestRestart(); }
  bool CanCommit(Slot slot) const {
    return up_ && slots_[slot].decision == Decision::kNone && links_.offers[slot].end().CanOffer();
  }
  /// If the decision is urgent and the slot's ask is open, answers the ask. Otherwise, or if the
  /// ask can no longer be answered, offers the decision instead.
  void Commit(Slot slot, const Item& item, Urgency urgency);
  bool Recall(Slot slot) {
    if (!up_ || slots_[slot].decision != Decision::kOffered || !links_.offers[slot].Cancel()) {
      return false;
    }
    window_->Interrupt(slot);
    return true;
  }
  bool PollOutcome(Slot slot, Item& out, Decided& how);
  uint64_t faults() const { return faults_ + links_.Faults() + control_.faults(); }

  const SwapLayout& layout() const { return layout_; }

 private:
  static constexpr uint32_t kNobody = ~uint32_t{0};

  enum class Ask : uint8_t { kNone, kNumbered, kOpen, kAnswered };
  enum class Decision : uint8_t { kNone, kOffered, kAnswered };
  struct SlotState {
    Ask ask = Ask::kNone;
    Decision decision = Decision::kNone;
    /// An offer was enforced after the ask, so the asking CPU may already be running a task.
    bool passed = false;
  };

  /// Accepts an event if it is next in order.
  struct Ear {
    swap::Answer Evaluate(const swap::Message&, swap::Reply&) {
      heard = true;
      return link->number() == number ? swap::Answer::kTrue : swap::Answer::kLater;
    }
    const ItemResponder<W>* link;
    uint32_t number;
    bool heard = false;
  };
  /// Answers with a decision.
  struct Hand {
    swap::Answer Evaluate(const swap::Message&, swap::Reply& reply) const {
      reply.key = item->word[0];
      reply.payload = PayloadOf(*item);
      return swap::Answer::kTrue;
    }
    const Item* item;
  };

  /// Polls the control pair and connects the half-links to the host's ends. Returns whether all are
  /// connected.
  bool Look();
  void Join();
  /// Receives the next message if it is an ask with a known number.
  bool ReceiveAsk(Item& out);
  bool ReceiveEvent(Item& out);
  /// Reads the numbers of newly arrived asks.
  void LookForAsks();
  W* window_;
  SwapLayout layout_;
  NicControl<W> control_;
  HalfLinks<ItemResponder<W>, ItemInitiator<W>, ItemResponder<W>> links_;
  std::vector<SlotState> slots_;
  std::vector<uint32_t> asked_;  ///< Slots of numbered asks, indexed by number modulo the size.
  bool up_ = false;              ///< Whether every half-link knows its peer's incarnation.
  /// The ring's next event has arrived, but an ask with a lower number has not.
  bool head_heard_ = false;
  uint32_t next_ = 0;   ///< Number of the next ask or event.
  uint64_t taken_ = 0;  ///< Number of received events, excluding asks.
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
    ++faults_;  // A correct host never cancels an event.
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
      ++faults_;  // An ask with an invalid or duplicate number is never received.
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
      // An idle CPU that has asked polls for the answer, so it needs no interrupt. It soon stops
      // polling if each poll reads the device.
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
bool SwapNic<W>::PollOutcome(Slot slot, Item& out, Decided& how) {
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
  ++faults_;  // This cannot happen, because an end that loses its memory begins another session.
  return false;
}

}  // namespace sluice::offload
