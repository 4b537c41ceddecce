// SPDX-License-Identifier: BSD-3-Clause
#include "swap/responder.h"

namespace sluice::swap {

Responder Responder::Resume(const Machine& machine, uint16_t epoch, const Message& own) {
  Responder end(machine, epoch, own.incarnation);
  end.own_ = own;
  end.self_.peer = own.peer_incarnation;
  end.self_.binding = own.binding;
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
  own_.binding = self_.binding;
  own_.phase = phase;
  // Resumed from a line that was cut at a meeting: nothing to say before the next one.
  publish_ = self_.peer != 0 || phase == Phase::kSync;
}

Event Responder::Step(Input input, const Message& peer) {
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
      // An offer that knows this incarnation was made to it: it is the next one.
      const bool offered = peer.phase == Phase::kOffer || peer.phase == Phase::kCancel;
      own_.txid = (peer.txid - (offered ? 1 : 0)) & machine_->txid_mask();
      Publish(Phase::kReady);
      return Event::kNothing;
    }
    default:  // kSuspect, kFault; the rest is the initiator's
      return Event::kNothing;
  }
}

void Responder::Reset(uint16_t epoch) {
  self_.epoch = epoch;
  suspect_ = false;
  Step(Input::kReset, own_);
}

void Responder::Expire() { Step(Input::kExpired, own_); }

}  // namespace sluice::swap
