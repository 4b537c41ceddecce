// SPDX-License-Identifier: BSD-3-Clause
//
// The end that makes offers. Its inputs and outputs are lines and results. It uses neither shared
// memory nor a clock, and does not allocate. The caller must post line() whenever ConsumeUpdate()
// returns true.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "swap/end.h"

namespace sluice::swap {

/// Content of an offer.
struct Offer {
  uint64_t key = 0;  ///< Condition for the exchange, as defined by the responder.
  Payload payload{};
  bool standing = false;  ///< Whether the answer may wait until the condition holds.
};

enum class Outcome : uint8_t {
  kCommitted,  ///< Both ends made the exchange.
  kRejected,   ///< Neither end made the exchange.
  /// The peer has lost its memory, so its outcome is unknown. Such a transaction counts neither as
  /// kCommitted nor as kRejected. With four messages, kOrphaned can follow kCommitted for the same
  /// transaction. It then means that the peer, which had tentatively accepted, never confirmed.
  kOrphaned,
};

/// Result of a transaction at this end.
struct Result {
  uint32_t txid;
  Outcome outcome;
  bool too_late;    ///< Whether the transaction committed although Cancel was called.
  uint8_t flags;    ///< If rejected: kBusy or kConflict.
  uint64_t key;     ///< Key in the responder's answer; if rejected, the responder's current state.
  Payload payload;  ///< The responder's part of the exchange; if rejected, its current state.
};

class Initiator : public End {
 public:
  /// Starts without memory. The first offer is possible after the peer's first line has arrived.
  Initiator(const Machine& machine, uint16_t epoch, uint32_t incarnation)
      : End(machine, epoch, incarnation) {}
  /// Continues from the line `own` in memory that has survived. Resumable(own) must be true. An
  /// unresolved offer remains offered. The line does not record whether the outcome of its last
  /// transaction was received. If it was, it is reported again: either unchanged, or as orphaned if
  /// the peer has lost its memory since. The caller must use the report that it recorded first.
  static Initiator Resume(const Machine& machine, uint16_t epoch, const Message& own);

  /// Returns whether MakeOffer is allowed now.
  bool CanOffer() const { return state_ == State::kIdle && !suspect_ && self_.peer != 0; }
  /// Offers the next transaction. CanOffer() must be true.
  void MakeOffer(const Offer& offer);
  /// Asks the peer to reject the transaction. The outcome may still be kCommitted. Returns false if
  /// there is nothing to cancel.
  bool Cancel();
  /// For four messages: accept or reject answer() in State::kValidate. Commit() is the commit point
  /// and returns the result; the peer confirms later. Abort() returns false if there is nothing to
  /// decide.
  std::optional<Result> Commit();
  bool Abort();

  /// Processes the peer's line. The same line may be passed repeatedly. Returns the result if the
  /// transaction has ended.
  std::optional<Result> Hear(const Message& peer);
  /// Restarts the link with `epoch`.
  void Reset(uint16_t epoch);
  /// Reports that no progress was made within the window.
  void Expire();

  /// Returns whether a transaction is unresolved, that is, its outcome is unknown here or, with
  /// four messages, the peer has not confirmed the decision.
  bool Unresolved() const {
    return state_ != State::kIdle && state_ != State::kSync && state_ != State::kFaulted;
  }
  /// Returns the peer's tentative answer. Only for four messages, in State::kValidate.
  const Message& answer() const { return answer_; }

 private:
  std::optional<Input> Classify(const Message& peer) const;
  std::optional<Result> Step(Input input, const Message& peer);
  bool Call(Input input);
  Result Finish(Outcome outcome, const Message& peer, bool too_late = false);
  /// Sets the line to the phase of the current state and marks it for posting.
  void Publish();

  Message answer_;
};

/// The phase in an initiator's line for each state.
inline constexpr std::array<Phase, kStates> kPhaseOf = [] {
  std::array<Phase, kStates> phases{};  // kNone where the state does not belong to an initiator.
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
  if (peer.phase < Phase::kReady) return std::nullopt;  // The peer is still in kSync.
  if (state_ == State::kSync) return Input::kHeardTxid;
  switch (Compare(peer.txid, own_.txid, machine_->txid_mask())) {
    case Order::kSame:
      break;
    case Order::kOlder:
      return std::nullopt;
    default:
      // If ids have only one bit, the next id equals the previous one.
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
    default:  // kFault. The remaining actions belong to the responder.
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
