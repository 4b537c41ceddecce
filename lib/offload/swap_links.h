// SPDX-License-Identifier: BSD-3-Clause
//
// Half-links of lib/swap that transport items: an item is the key and the payload of a line. They
// add two features to swap/port.h and follow its publication rules:
//
//   - Bits 36 … 63 of word 1, which swap/message.h leaves free, contain a number that defines the
//     order of offers on different links.
//   - With four messages, the initiator's closing line (COMMIT or ABORT) contains an item instead
//     of the offer. The responder is not reading the offer at that time: its reflection shows that
//     it has read it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "bar/window.h"
#include "offload/item.h"
#include "offload/layout.h"
#include "offload/session.h"
#include "swap/port.h"

namespace sluice::offload {

/// Offer numbers are modulo 2^28.
inline constexpr uint32_t kNumberShift = 36;
inline constexpr uint32_t kNumberMask = (1u << 28) - 1;

inline swap::Payload PayloadOf(const Item& item) {
  return {item.word[1], item.word[2], item.word[3], item.word[4]};
}
inline Item ItemOf(uint64_t key, const swap::Payload& payload) {
  return {{key, payload[0], payload[1], payload[2], payload[3]}};
}
inline Item ItemOf(const swap::Message& message) { return ItemOf(message.key, message.payload); }

/// A resource that makes every offer wait. A recalled offer gets an empty reply.
struct Deaf {
  swap::Answer Evaluate(const swap::Message&, swap::Reply&) { return swap::Answer::kLater; }
};

template <bar::WindowEnd W>
class ItemInitiator : public swap::InitiatorPort<W> {
 public:
  using swap::InitiatorPort<W>::InitiatorPort;

  /// Offers `item`. The answer may wait (swap::kStanding). end().CanOffer() must be true.
  void Offer(const Item& item, uint32_t number) {
    this->PreparePost();
    this->end_.MakeOffer({item.word[0], PayloadOf(item), /*standing=*/true});
    if (this->end_.ConsumeUpdate()) Post(item, number);
  }
  /// For links with four messages. Commits or aborts end().answer(), and sends `closing` with that
  /// decision.
  void Close(bool commit, const Item& closing) {
    if (commit) {
      this->end_.Commit();
    } else {
      this->end_.Abort();
    }
    if (this->end_.ConsumeUpdate()) Post(closing, 0);
  }
  void Prepare() { this->PreparePost(); }
  /// Returns whether this end is connected to the peer with `incarnation`, so that it can offer.
  bool HasMet(uint32_t incarnation) const {
    return this->end_.identity().peer == incarnation && this->end_.state() != swap::State::kSync;
  }

 private:
  void Post(const Item& item, uint32_t number) {
    bar::Line line = swap::Encode(this->end_.line());
    line.word[1] |= uint64_t{number & kNumberMask} << kNumberShift;
    std::copy(item.word.begin(), item.word.end(), line.word.begin() + 2);
    this->window_->Post(this->index_, line);
  }
};

template <bar::WindowEnd W>
class ItemResponder : public swap::ResponderPort<W> {
 public:
  using swap::ResponderPort<W>::ResponderPort;

  /// Returns the number in the line that Poll read last. The resource that Poll calls may call this
  /// function.
  uint32_t number() const { return static_cast<uint32_t>(this->line_.word[1] >> kNumberShift); }
  void Prepare() { this->PreparePost(); }
  bool HasMet(uint32_t incarnation) const {
    return this->end_.identity().peer == incarnation && this->end_.state() != swap::State::kSync;
  }
  /// Answers the offer that the last Poll read and left waiting, without reading it again. The
  /// answer is valid even if the offer has been cancelled since.
  template <swap::Resource R>
  swap::Event Answer(R& resource) {
    return this->HearLine(this->line_.word[0],
                          [&] { return this->end_.Hear(this->offer(), resource); });
  }
  /// Reads the pending offer without answering it. Returns false if there is none or it was
  /// cancelled.
  bool Waiting(Item& out) const {
    bar::Line line;
    if (!this->window_->Poll(this->index_, line)) return false;
    const swap::Message offer = swap::Decode(line);
    out = ItemOf(offer);
    return this->end_.state() == swap::State::kReady && offer.phase == swap::Phase::kOffer &&
           swap::Judge(this->end_.identity(), offer) == swap::Standing::kOurs &&
           offer.txid == this->end_.txid() + 1;
  }
};

/// The half-links of one end of a channel: an offer per slot, an ask per slot if the layout has
/// asks, and the event ring.
template <typename Asks, typename Offers, typename Events>
struct HalfLinks {
  explicit HalfLinks(const SwapLayout& layout) {
    asks.reserve(layout.asks ? layout.slots : 0);
    offers.reserve(layout.slots);
    events.reserve(layout.queue_depth);
  }

  void Clear() {
    asks.clear();
    offers.clear();
    events.clear();
  }
  /// Creates every half-link, each with a copy of `ask`, `offer` or `event`.
  template <bar::WindowEnd W, typename A, typename O, typename E>
  void Make(W& window, const SwapLayout& layout, const A& ask, const O& offer, const E& event) {
    for (Slot slot = 0; slot < layout.slots; ++slot) {
      if (layout.asks) asks.emplace_back(window, layout.AskLine(slot), ask);
      offers.emplace_back(window, layout.OfferLine(slot), offer);
    }
    for (uint32_t link = 0; link < layout.queue_depth; ++link) {
      events.emplace_back(window, layout.EventLine(link), event);
    }
  }
  /// Continues to connect the half-links to the peer with this incarnation. Returns true once all
  /// of them know the peer.
  bool Meet(uint32_t peer) {
    const bool offers_met = Meet(offers, peer);
    const bool asks_met = Meet(asks, peer);
    return Meet(events, peer) && asks_met && offers_met;
  }
  /// Returns the number of ends whose peer has violated the protocol.
  uint64_t Faults() const {
    const auto count = [](const auto& ends) {
      return std::ranges::count_if(ends, [](const auto& port) { return port.end().faulted(); });
    };
    return static_cast<uint64_t>(count(asks) + count(offers) + count(events));
  }

  std::vector<Asks> asks;
  std::vector<Offers> offers;
  std::vector<Events> events;

 private:
  template <typename Port>
  static bool Meet(std::vector<Port>& ports, uint32_t peer) {
    bool met = true;
    for (Port& port : ports) {
      if (!port.HasMet(peer)) {
        if constexpr (requires { port.Poll(); }) {
          port.Poll();
        } else {
          Deaf deaf;
          port.Poll(deaf);
        }
      }
      met = met && port.HasMet(peer);
    }
    return met;
  }
};

}  // namespace sluice::offload
