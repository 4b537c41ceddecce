// SPDX-License-Identifier: BSD-3-Clause
//
// The observer: records the actions of both ends and checks the properties.
#include "world.h"
#include "world_moves.h"

namespace sluice::swap::test {

// ---------------------------------------------------------------- the initiator's side

void SwapWorld::Offer(uint8_t kind) {
  for (uint8_t serial = 1; serial <= serial_; ++serial) {
    // The next offer permits the responder to forget the last outcome.
    const Ghost& ghost = ghost_[serial];
    if (ghost.reported == Fate::kNone && ghost.decided == Fate::kNone) Violate(kNoSilentDrop);
  }
  swap::Offer offer;
  offer.key = kind == kPlain ? 0 : 1;
  offer.standing = kind == kStandingOffer;
  offer.payload[kSerialWord] = ++serial_;
  offer.payload[kCellWord] = initiator_cell_;
  initiator_.MakeOffer(offer);
  resumed_ = false;
}

void SwapWorld::InitiatorHears(const Message& line) {
  const Identity before = initiator_.identity();
  const State state = initiator_.state();
  const std::optional<Result> result = initiator_.Hear(line);
  const bool foreign =
      line.epoch != before.epoch || static_cast<int32_t>(line.incarnation - before.peer) < 0;
  const bool meets = line.incarnation != before.peer;
  if (foreign && (result || initiator_.state() != state || !(initiator_.identity() == before))) {
    Violate(kIdentity);
  }
  if (line.peer_incarnation != before.incarnation && result &&
      result->outcome != Outcome::kOrphaned) {
    Violate(kIdentity);
  }
  if (result && result->outcome == Outcome::kOrphaned && !meets) Violate(kIdentity);
  if (result) Report(*result);
}

void SwapWorld::Report(const Result& result) {
  Ghost& ghost = ghost_[serial_];
  const Fate fate = result.outcome == Outcome::kCommitted  ? Fate::kCommitted
                    : result.outcome == Outcome::kRejected ? Fate::kRejected
                                                           : Fate::kOrphaned;
  if (fate == Fate::kOrphaned) {
    if (responder_restarts_ == 0) Violate(kIdentity);
  } else if (result.payload[kSerialWord] != serial_) {
    Violate(kValidity);  // The record belongs to another transaction.
  }
  if (ghost.reported != Fate::kNone) {
    const bool unconfirmed =
        config_->machine->variant() == Variant::kFourMessage && fate == Fate::kOrphaned;
    const bool again = resumed_ && (fate == ghost.reported || fate == Fate::kOrphaned);
    if (!unconfirmed && !again) Violate(kAtMostOnce);
    return;
  }
  ghost.reported = fate;
  if (fate == Fate::kOrphaned) return;
  if (ghost.decided != Fate::kNone && ghost.decided != fate) Violate(kAgreement);
  ghost.decided = fate;
  if (fate != Fate::kCommitted) return;
  initiator_cell_ = static_cast<uint8_t>(result.payload[kCellWord]);
  const bool recorded = ghost.responder == Fate::kCommitted ||
                        (config_->machine->variant() == Variant::kFourMessage &&
                         (held_ == serial_ || responder_restarts_ > 0));
  if (!recorded) Violate(kValidity);
}

void SwapWorld::ExpireInitiator() {
  const bool unresolved = initiator_.Unresolved();
  initiator_.Expire();
  if (!unresolved || initiator_.Unresolved()) return;
  // A mutated machine rolls back when its window expires.
  if (ghost_[serial_].decided == Fate::kNone) ghost_[serial_].decided = Fate::kRejected;
  if (ghost_[serial_].reported == Fate::kNone) ghost_[serial_].reported = Fate::kRejected;
}

void SwapWorld::RestartInitiator() {
  ++initiator_restarts_;
  memory_lost_ = true;
  resumed_ = false;
  initiator_ = Initiator(*config_->machine, epoch_, initiator_.identity().incarnation + 1);
  for (uint8_t serial = 1; serial <= serial_; ++serial) {
    if (ghost_[serial].reported == Fate::kNone) ghost_[serial].reported = Fate::kForgotten;
  }
}

// ---------------------------------------------------------------- the responder's side

Answer SwapWorld::Evaluate(const Message& offer, Reply& reply) const {
  reply.payload[kSerialWord] = offer.payload[kSerialWord];
  reply.payload[kCellWord] = responder_cell_;
  return offer.key == 0 || condition_ ? Answer::kTrue : Answer::kLater;
}

void SwapWorld::ResponderHears(const Message& line) {
  const Identity before = responder_.identity();
  const State state = responder_.state();
  const uint32_t txid = responder_.txid();
  const Event event = responder_.Hear(line, *this);
  const bool changed =
      event != Event::kNothing || responder_.state() != state || responder_.txid() != txid;
  const bool foreign =
      line.epoch != before.epoch || static_cast<int32_t>(line.incarnation - before.peer) < 0;
  if (foreign && (changed || !(responder_.identity() == before))) Violate(kIdentity);
  if (line.peer_incarnation != before.incarnation && changed && event != Event::kOrphaned) {
    Violate(kIdentity);
  }
  if (event == Event::kOrphaned && initiator_restarts_ == 0) Violate(kIdentity);
  ResponderDid(event, line);
}

void SwapWorld::Record(uint8_t serial, Fate fate) {
  Fate& known = ghost_[serial].responder;
  // The responder contradicts what it reported before.
  if (known != Fate::kNone && known != fate) Violate(kAgreement);
  known = fate;
}

void SwapWorld::ResponderDid(Event event, const Message& line) {
  if (event == Event::kNothing) return;
  const auto offered = static_cast<uint8_t>(line.payload[kSerialWord]);
  const bool was_held = held_ != 0;
  const uint8_t serial = was_held ? held_ : offered;
  if (!was_held) {
    // The new outcome overwrites the outcomes of all earlier transactions.
    for (uint8_t earlier = 1; earlier < serial; ++earlier) {
      const Ghost& ghost = ghost_[earlier];
      if (ghost.responder != Fate::kNone && ghost.reported == Fate::kNone) Violate(kNoSilentDrop);
    }
    const bool takes = event == Event::kCommitted || event == Event::kHeld;
    if (takes && line.key != 0 && !condition_) Violate(kValidity);
  }
  switch (event) {
    case Event::kHeld:
      held_ = offered;
      held_cell_ = static_cast<uint8_t>(line.payload[kCellWord]);
      return;
    case Event::kCommitted:
      Record(serial, Fate::kCommitted);
      if (++ghost_[serial].applied > 1) Violate(kAtMostOnce);
      responder_cell_ = was_held ? held_cell_ : static_cast<uint8_t>(line.payload[kCellWord]);
      break;
    case Event::kOrphaned:
      Record(serial, Fate::kOrphaned);
      break;
    default:
      Record(serial, Fate::kRejected);
  }
  held_ = held_cell_ = 0;
}

void SwapWorld::ExpireResponder() {
  responder_.Expire();
  if (held_ == 0 || responder_.state() == State::kTentative) return;
  Record(held_, Fate::kRejected);  // A mutated machine rolls back when its window expires.
  held_ = held_cell_ = 0;
}

void SwapWorld::ResetResponder() {
  if (config_->forget_at_reset && responder_.state() == State::kReady) {
    Message zeroed = responder_.line();
    zeroed.txid = 0;
    zeroed.phase = Phase::kReady;
    responder_ = Responder::Resume(*config_->machine, epoch_, zeroed);
    return;
  }
  responder_.Reset(epoch_);
}

void SwapWorld::RestartResponder() {
  ++responder_restarts_;
  memory_lost_ = true;
  held_ = held_cell_ = 0;
  responder_ = Responder(*config_->machine, epoch_, responder_.identity().incarnation + 1);
}

// ---------------------------------------------------------------- both at once

void SwapWorld::Check() {
  const bool four = config_->machine->variant() == Variant::kFourMessage;
  const State state = initiator_.state();
  // With four messages, a commit requires the initiator, so the initiator's rejection is a
  // decision.
  if (four && (state == State::kCancel || state == State::kAbort) &&
      ghost_[serial_].decided == Fate::kNone) {
    ghost_[serial_].decided = Fate::kRejected;
  }
  for (uint8_t serial = 1; serial <= serial_; ++serial) {
    const Ghost& ghost = ghost_[serial];
    if ((ghost.decided == Fate::kCommitted && ghost.responder == Fate::kRejected) ||
        (ghost.decided == Fate::kRejected && ghost.responder == Fate::kCommitted)) {
      Violate(kAgreement);
    }
  }
  const Ghost& last = ghost_[serial_];
  const bool initiator_doubts =
      initiator_.Unresolved() && last.decided == Fate::kNone && last.responder != Fate::kNone;
  const bool responder_doubts = held_ != 0 && ghost_[held_].decided != Fate::kNone;
  if (initiator_doubts && responder_doubts) Violate(kOneDoubt);
  if (!four && held_ != 0) Violate(kOneDoubt);
  if (initiator_.faulted() || responder_.faulted()) Violate(kSound);
  if (!memory_lost_ && Resolved() && initiator_cell_ == responder_cell_) Violate(kReversible);
}

bool SwapWorld::Resolved() const {
  const Identity& one = initiator_.identity();
  const Identity& other = responder_.identity();
  return initiator_.state() == State::kIdle && responder_.state() == State::kReady &&
         initiator_.txid() == responder_.txid() && one.epoch == epoch_ && other.epoch == epoch_ &&
         one.peer == other.incarnation && other.peer == one.incarnation &&
         (serial_ == 0 || ghost_[serial_].reported != Fate::kNone);
}

}  // namespace sluice::swap::test
