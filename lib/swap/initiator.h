// SPDX-License-Identifier: BSD-3-Clause
//
// The end that offers. Pure: lines in, a line and results out; no memory shared, no
// clock, no allocation. Whoever drives it posts line() whenever TakePublish() says so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "swap/end.h"

namespace sluice::swap {

/// What is offered.
struct Offer {
  uint64_t key = 0;  ///< The condition, in the responder's terms.
  Payload payload{};
  bool standing = false;  ///< The answer may wait until the condition holds.
};

enum class Outcome : uint8_t {
  kCommitted,  ///< Both ends exchanged.
  kRejected,   ///< Neither did.
  /// The peer lost its memory: what it did is unknown. Never counted as either. Four
  /// messages: after kCommitted of the same transaction it says that the peer, which held
  /// its part, never confirmed.
  kOrphaned,
};

/// How a transaction ended here.
struct Result {
  uint32_t txid;
  Outcome outcome;
  bool too_late;    ///< Committed although it was cancelled.
  uint8_t flags;    ///< Of a rejection: kBusy, kConflict.
  uint64_t key;     ///< The responder's state: a rejection carries it fresh.
  Payload payload;  ///< What the responder gave; of a rejection: its present state.
};

class Initiator : public End {
 public:
  /// Starts without memory: the first transaction can be offered once the peer was heard.
  Initiator(const Machine& machine, uint16_t epoch, uint32_t incarnation)
      : End(machine, epoch, incarnation) {}
  /// Goes on where the line `own` of a memory that survived says that this end was; only
  /// if Resumable(own). What was offered and not resolved still is. The line does not say
  /// whether the outcome of its last transaction was heard: if it was, it is reported once
  /// more, unchanged (or as orphaned, if the peer lost its memory since), and what the
  /// caller recorded the first time counts.
  static Initiator Resume(const Machine& machine, uint16_t epoch, const Message& own);

  /// Whether an offer would be accepted now.
  bool CanOffer() const { return state_ == State::kIdle && !suspect_ && self_.peer != 0; }
  /// Offers the next transaction. Only if CanOffer().
  void MakeOffer(const Offer& offer);
  /// Asks for a rejection. The outcome may be "committed" all the same. False: there is
  /// nothing to cancel.
  bool Cancel();
  /// Four messages: decides about answer() in State::kValidate. Commit() is the commit
  /// point and returns the result; the peer confirms later.
  std::optional<Result> Commit();
  bool Abort();

  /// The peer's line, as often as wanted. Returns how a transaction ended, if one did.
  std::optional<Result> Hear(const Message& peer);
  /// The link came up again under `epoch`.
  void Reset(uint16_t epoch);
  /// There was no progress within the window.
  void Expire();

  /// Something was offered and its outcome is not known here.
  bool Unresolved() const {
    return state_ != State::kIdle && state_ != State::kSync && state_ != State::kFaulted;
  }
  /// Four messages, in State::kValidate: what the peer holds out.
  const Message& answer() const { return answer_; }

 private:
  std::optional<Input> Classify(const Message& peer) const;
  std::optional<Result> Step(Input input, const Message& peer);
  bool Call(Input input);
  Result Finish(Outcome outcome, const Message& peer, bool too_late = false);
  /// Posts what the state is.
  void Publish();

  Message answer_;
};

/// What the line of an initiator in this state says.
inline constexpr std::array<Phase, kStates> kPhaseOf = [] {
  std::array<Phase, kStates> phases{};  // kNone: no state of an initiator
  phases[static_cast<size_t>(State::kSync)] = Phase::kSync;
  phases[static_cast<size_t>(State::kFaulted)] = Phase::kSync;
  phases[static_cast<size_t>(State::kIdle)] = Phase::kIdle;
  phases[static_cast<size_t>(State::kOffer)] = Phase::kOffer;
  phases[static_cast<size_t>(State::kValidate)] = Phase::kOffer;
  phases[static_cast<size_t>(State::kCancel)] = Phase::kCancel;
  phases[static_cast<size_t>(State::kCommit)] = Phase::kCommit;
  phases[static_cast<size_t>(State::kAbort)] = Phase::kAbort;
  return phases;
}();

inline void Initiator::Publish() { End::Publish(kPhaseOf[static_cast<size_t>(state_)]); }

inline void Initiator::MakeOffer(const Offer& offer) {
  const Transition move = machine_->Find(Role::kInitiator, state_, Input::kCallOffer);
  if (move.action != Action::kPublishOffer || suspect_ || self_.peer == 0) return;
  own_.txid = (own_.txid + 1) & machine_->txid_mask();
  own_.flags = offer.standing ? kStanding : 0;
  own_.key = offer.key;
  own_.payload = offer.payload;
  Step(Input::kCallOffer, own_);
}

inline bool Initiator::Cancel() { return Call(Input::kCallCancel); }
inline bool Initiator::Abort() { return Call(Input::kCallAbort); }

inline bool Initiator::Call(Input input) {
  if (machine_->Find(Role::kInitiator, state_, input).action == Action::kIgnore) return false;
  Step(input, own_);
  return true;
}

inline std::optional<Result> Initiator::Commit() {
  return Step(Input::kCallCommit, Message(answer_));
}

inline std::optional<Input> Initiator::Classify(const Message& peer) const {
  switch (Judge(self_, peer)) {
    case Standing::kPeerNew:
      return Input::kPeerNew;
    case Standing::kOurs:
      break;
    default:
      return std::nullopt;
  }
  if (peer.phase < Phase::kReady) return std::nullopt;  // in kSync itself
  if (state_ == State::kSync) return Input::kHeardTxid;
  switch (Compare(peer.txid, own_.txid, machine_->txid_mask())) {
    case Order::kSame:
      break;
    case Order::kOlder:
      return std::nullopt;
    default:
      // One bit cannot tell the next from the one before.
      if (machine_->txid_mask() == 1) return std::nullopt;
      return Input::kGap;
  }
  if (peer.phase == Phase::kReflected) return Input::kReflected;
  if (peer.phase == Phase::kCommitted) return Input::kCommitted;
  if (peer.phase == Phase::kRejected) return Input::kRejected;
  return std::nullopt;
}

inline std::optional<Result> Initiator::Hear(const Message& peer) {
  const std::optional<Input> input = Classify(peer);
  return input ? Step(*input, peer) : std::nullopt;
}

inline std::optional<Result> Initiator::Step(Input input, const Message& peer) {
  const Transition move = machine_->Find(Role::kInitiator, state_, input);
  state_ = move.next;
  switch (move.action) {
    case Action::kIgnore:
      return std::nullopt;
    case Action::kSuspect:
      suspect_ = true;
      return std::nullopt;
    case Action::kRepublish:
    case Action::kPublishOffer:
    case Action::kPublishCancel:
    case Action::kDecideAbort:
      Publish();
      return std::nullopt;
    case Action::kDecideCommit:
      Publish();
      return Finish(Outcome::kCommitted, peer);
    case Action::kTake:
      return Finish(Outcome::kCommitted, peer);
    case Action::kTakeLate:
      return Finish(Outcome::kCommitted, peer, true);
    case Action::kRestore:
      return Finish(Outcome::kRejected, peer);
    case Action::kClose:
      suspect_ = false;
      return std::nullopt;
    case Action::kAsk:
      suspect_ = false;
      answer_ = peer;
      return std::nullopt;
    case Action::kMeet:
      self_.Meet(peer.incarnation);
      Publish();
      return std::nullopt;
    case Action::kOrphan:
      self_.Meet(peer.incarnation);
      Publish();
      return Finish(Outcome::kOrphaned, peer);
    case Action::kAdopt:
      own_.txid = peer.txid & machine_->txid_mask();
      Publish();
      return std::nullopt;
    default:  // kFault; the rest is the responder's
      return std::nullopt;
  }
}

inline Result Initiator::Finish(Outcome outcome, const Message& peer, bool too_late) {
  suspect_ = false;
  return {own_.txid, outcome, too_late, peer.flags, peer.key, peer.payload};
}

inline void Initiator::Reset(uint16_t epoch) {
  self_.epoch = epoch;
  suspect_ = false;
  Step(Input::kReset, own_);
}

inline void Initiator::Expire() { Step(Input::kExpired, own_); }

}  // namespace sluice::swap
