// SPDX-License-Identifier: BSD-3-Clause
#include "swap/responder.h"

namespace sluice::swap {

Responder Responder::Resume(const Machine& machine, uint16_t epoch, const Message& own) {
  Responder end(machine, epoch, own.incarnation);
  end.own_ = own;
  end.self_.peer = own.peer_incarnation;
  end.state_ = own.phase == Phase::kReflected ? State::kTentative
               : own.phase >= Phase::kReady   ? State::kReady
                                              : State::kSync;
  end.Publish(end.state_ == State::kSync ? Phase::kSync : own.phase);
  return end;
}

void Responder::Publish(Phase phase) {
  own_.epoch = self_.epoch;
  own_.incarnation = self_.incarnation;
  own_.peer_incarnation = self_.peer;
  own_.phase = phase;
  publish_ = true;
}

Event Responder::Step(Input input, const Message& peer) {
  const Transition move = machine_->Find(Role::kResponder, state_, input);
  if (move.action == Action::kIgnore) return Event::kNothing;
  state_ = move.next;
  suspect_ = false;
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
      self_.peer = peer.incarnation;
      Publish(Phase::kRejected);
      return Event::kOrphaned;
    case Action::kMeet:
      self_.peer = peer.incarnation;
      Publish(own_.phase);
      return Event::kNothing;
    case Action::kAdopt: {
      // An offer that knows this incarnation was made to it: it is the next one.
      const bool offered = peer.phase == Phase::kOffer || peer.phase == Phase::kCancel;
      own_.txid = (peer.txid - (offered ? 1 : 0)) & machine_->txid_mask();
      Publish(Phase::kReady);
      return Event::kNothing;
    }
    default:  // kFault
      return Event::kNothing;
  }
}

void Responder::Reset(uint16_t epoch) {
  self_.epoch = epoch;
  suspect_ = false;
  if (machine_->Find(Role::kResponder, state_, Input::kReset).action == Action::kRepublish) {
    Publish(own_.phase);
  }
}

void Responder::Expire() {
  const Transition move = machine_->Find(Role::kResponder, state_, Input::kExpired);
  state_ = move.next;
  suspect_ = move.action == Action::kSuspect || suspect_;
}

}  // namespace sluice::swap
