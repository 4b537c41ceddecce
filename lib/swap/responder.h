// SPDX-License-Identifier: BSD-3-Clause
//
// The end that owns the resource and answers. Like initiator.h, it uses neither shared memory nor a
// clock, and does not allocate. With two messages, the store that posts an answer is the commit
// point. The caller must post line() first and then change the resource, so that the change can be
// repeated from the line.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "swap/end.h"

namespace sluice::swap {

/// The resource's answer to an offer.
enum class Answer : uint8_t {
  kTrue,   ///< The condition holds.
  kFalse,  ///< The condition does not hold.
  kLater,  ///< The condition does not hold yet. Treated as kFalse unless the offer may wait
           ///< (kStanding).
};

/// The responder's data in its line, in addition to the outcome.
struct Reply {
  uint8_t flags = 0;  ///< If rejected: kBusy or kConflict.
  uint64_t key = 0;   ///< The current state of the resource.
  Payload payload{};  ///< kTrue: the responder's part of the exchange; otherwise the current state.
};

/// The resource. Evaluate must not change its state, and may be called repeatedly for one offer.
template <typename R>
concept Resource = requires(R resource, const Message& offer, Reply& reply) {
  { resource.Evaluate(offer, reply) } -> std::same_as<Answer>;
};

/// Result of processing a line.
enum class Event : uint8_t {
  kNothing,
  /// The exchange is committed. Post line() first, then apply the exchange: the resource receives
  /// the offer's payload in exchange for the payload in line().
  kCommitted,
  kRejected,  ///< The offer is rejected; the resource does not change.
  kHeld,      ///< Four messages: like kCommitted, but apply it only after a later kCommitted.
  kReleased,  ///< Four messages: the held exchange is rejected.
  kOrphaned,  ///< Four messages: like kReleased, because the peer lost its memory.
};

class Responder : public End {
 public:
  /// Starts without memory.
  Responder(const Machine& machine, uint16_t epoch, uint32_t incarnation)
      : End(machine, epoch, incarnation) {}
  /// Continues from the line `own` in memory that has survived. Resumable(own) must be true. If the
  /// line contains an outcome that may not have been applied, the caller must apply it again.
  static Responder Resume(const Machine& machine, uint16_t epoch, const Message& own);

  /// Processes the peer's line. The same line may be passed repeatedly.
  template <Resource R>
  Event Hear(const Message& peer, R& resource) {
    const std::optional<Input> input = Classify(peer, resource);
    return input ? Step(*input, peer) : Event::kNothing;
  }
  void Reset(uint16_t epoch);
  void Expire();

 private:
  template <Resource R>
  std::optional<Input> Classify(const Message& peer, R& resource);
  Event Step(Input input, const Message& peer);

  Reply reply_;  ///< Reply to the offer being classified.
};

inline Responder Responder::Resume(const Machine& machine, uint16_t epoch, const Message& own) {
  Responder end(machine, epoch, own.incarnation);
  end.Recall(own, own.phase == Phase::kReflected ? State::kTentative
                  : own.phase >= Phase::kReady   ? State::kReady
                                                 : State::kSync);
  end.Publish(end.state_ == State::kSync ? Phase::kSync : own.phase);
  return end;
}

template <Resource R>
std::optional<Input> Responder::Classify(const Message& peer, R& resource) {
  switch (Judge(self_, peer)) {
    case Standing::kPeerNew:
      return Input::kPeerNew;
    case Standing::kOurs:
      break;
    default:
      return std::nullopt;
  }
  if (peer.phase >= Phase::kReady) return std::nullopt;  // This is not an initiator's phase.
  if (state_ == State::kSync) return Input::kHeardTxid;
  if (peer.phase == Phase::kSync) return std::nullopt;
  switch (Compare(peer.txid, own_.txid, machine_->txid_mask())) {
    case Order::kSame:
      if (peer.phase == Phase::kCommit) return Input::kCommit;
      if (peer.phase == Phase::kAbort) return Input::kAbort;
      if (peer.phase == Phase::kCancel) return Input::kCancelHeld;
      return std::nullopt;
    case Order::kOlder:
      return std::nullopt;
    case Order::kBeyond:
      return Input::kGap;
    case Order::kNext:
      break;
  }
  if (peer.phase != Phase::kOffer && peer.phase != Phase::kCancel) return Input::kGap;
  reply_ = {};
  const Answer answer = resource.Evaluate(peer, reply_);
  if (peer.phase == Phase::kCancel) return Input::kCancelNew;
  if (answer == Answer::kTrue) return Input::kOfferTrue;
  const bool waits = answer == Answer::kLater && (peer.flags & kStanding) != 0;
  return waits ? std::nullopt : std::optional<Input>(Input::kOfferFalse);
}

inline Event Responder::Step(Input input, const Message& peer) {
  const Transition move = machine_->Find(Role::kResponder, state_, input);
  state_ = move.next;
  if (move.action == Action::kIgnore) return Event::kNothing;
  suspect_ = move.action == Action::kSuspect;
  switch (move.action) {
    case Action::kApply:
    case Action::kHold:
    case Action::kRefuse:
      own_.txid = peer.txid;
      own_.flags = reply_.flags;
      own_.key = reply_.key;
      own_.payload = reply_.payload;
      if (move.action == Action::kApply) {
        Publish(Phase::kCommitted);
        return Event::kCommitted;
      }
      Publish(move.action == Action::kHold ? Phase::kReflected : Phase::kRejected);
      return move.action == Action::kHold ? Event::kHeld : Event::kRejected;
    case Action::kApplyHeld:
      Publish(Phase::kCommitted);
      return Event::kCommitted;
    case Action::kRelease:
      Publish(Phase::kRejected);
      return Event::kReleased;
    case Action::kOrphan:
      self_.Meet(peer.incarnation);
      Publish(Phase::kRejected);
      return Event::kOrphaned;
    case Action::kRepublish:
      Publish(own_.phase);
      return Event::kNothing;
    case Action::kMeet:
      self_.Meet(peer.incarnation);
      Publish(own_.phase);
      return Event::kNothing;
    case Action::kAdopt: {
      // The offer names this incarnation, so it was made after this end had started. The preceding
      // transaction was the last one.
      const bool offered = peer.phase == Phase::kOffer || peer.phase == Phase::kCancel;
      own_.txid = (peer.txid - (offered ? 1 : 0)) & machine_->txid_mask();
      Publish(Phase::kReady);
      return Event::kNothing;
    }
    default:  // kSuspect or kFault. The remaining actions belong to the initiator.
      return Event::kNothing;
  }
}

inline void Responder::Reset(uint16_t epoch) {
  self_.epoch = epoch;
  suspect_ = false;
  Step(Input::kReset, own_);
}

inline void Responder::Expire() { Step(Input::kExpired, own_); }

}  // namespace sluice::swap
