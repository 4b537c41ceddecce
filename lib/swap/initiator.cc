// SPDX-License-Identifier: BSD-3-Clause
#include "swap/initiator.h"

namespace sluice::swap {
namespace {

/// What the line of an end in this state says.
Phase PhaseOf(State state) {
  switch (state) {
    case State::kOffer:
    case State::kValidate:
      return Phase::kOffer;
    case State::kCancel:
      return Phase::kCancel;
    case State::kCommit:
      return Phase::kCommit;
    case State::kAbort:
      return Phase::kAbort;
    case State::kIdle:
      return Phase::kIdle;
    default:
      return Phase::kSync;
  }
}

State StateOf(Phase phase) {
  switch (phase) {
    case Phase::kOffer:
      return State::kOffer;
    case Phase::kCancel:
      return State::kCancel;
    case Phase::kCommit:
      return State::kCommit;
    case Phase::kAbort:
      return State::kAbort;
    case Phase::kIdle:
      return State::kIdle;
    default:
      return State::kSync;
  }
}

}  // namespace

Initiator Initiator::Resume(const Machine& machine, uint16_t epoch, const Message& own) {
  Initiator end(machine, epoch, own.incarnation);
  end.own_ = own;
  end.self_.peer = own.peer_incarnation;
  end.self_.binding = own.binding;
  end.state_ = StateOf(own.phase);
  end.Publish();
  return end;
}

void Initiator::Publish() {
  own_.epoch = self_.epoch;
  own_.incarnation = self_.incarnation;
  own_.peer_incarnation = self_.peer;
  own_.binding = self_.binding;
  own_.phase = PhaseOf(state_);
  // Resumed from a line that was cut at a meeting: nothing to say before the next one.
  publish_ = self_.peer != 0 || state_ == State::kSync;
}

void Initiator::MakeOffer(const Offer& offer) {
  const Transition move = machine_->Find(Role::kInitiator, state_, Input::kCallOffer);
  if (move.action != Action::kPublishOffer || suspect_ || self_.peer == 0) return;
  own_.txid = (own_.txid + 1) & machine_->txid_mask();
  own_.flags = offer.standing ? kStanding : 0;
  own_.key = offer.key;
  own_.payload = offer.payload;
  Step(Input::kCallOffer, own_);
}

bool Initiator::Cancel() { return Call(Input::kCallCancel); }
bool Initiator::Abort() { return Call(Input::kCallAbort); }

bool Initiator::Call(Input input) {
  if (machine_->Find(Role::kInitiator, state_, input).action == Action::kIgnore) return false;
  Step(input, own_);
  return true;
}

std::optional<Result> Initiator::Commit() {
  return Step(Input::kCallCommit, Message(answer_));
}

std::optional<Input> Initiator::Classify(const Message& peer) const {
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

std::optional<Result> Initiator::Hear(const Message& peer) {
  const std::optional<Input> input = Classify(peer);
  return input ? Step(*input, peer) : std::nullopt;
}

std::optional<Result> Initiator::Step(Input input, const Message& peer) {
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
      return End(Outcome::kCommitted, peer);
    case Action::kTake:
      return End(Outcome::kCommitted, peer);
    case Action::kTakeLate:
      return End(Outcome::kCommitted, peer, true);
    case Action::kRestore:
      return End(Outcome::kRejected, peer);
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
      return End(Outcome::kOrphaned, peer);
    case Action::kAdopt:
      own_.txid = peer.txid & machine_->txid_mask();
      Publish();
      return std::nullopt;
    default:  // kFault; the rest is the responder's
      return std::nullopt;
  }
}

Result Initiator::End(Outcome outcome, const Message& peer, bool too_late) {
  suspect_ = false;
  return {own_.txid, outcome, too_late, peer.flags, peer.key, peer.payload};
}

void Initiator::Reset(uint16_t epoch) {
  self_.epoch = epoch;
  suspect_ = false;
  Step(Input::kReset, own_);
}

void Initiator::Expire() { Step(Input::kExpired, own_); }

}  // namespace sluice::swap
