// SPDX-License-Identifier: BSD-3-Clause
#include "world.h"

#include <algorithm>
#include <cstdio>

namespace sluice::swap::test {
namespace {

enum Kind : uint8_t {
  kPostInitiator,
  kPostResponder,
  kHearResponder,  ///< The initiator hears line `index`; of a queue: the first, which leaves.
  kHearInitiator,
  kHearResponderTwice,  ///< Of a queue: the first stays.
  kHearInitiatorTwice,
  kLoseToInitiator,  ///< Of a queue: the first.
  kLoseToResponder,
  kOffer,  ///< `index`: OfferKind
  kCancel,
  kCommit,
  kAbort,
  kExpireInitiator,
  kExpireResponder,
  kConditionChanges,
  kLinkReset,
  kResetInitiator,
  kResetResponder,
  kRestartInitiator,
  kRestartResponder,
  kResumeInitiator,
  kResumeResponder,
  kHearResponderTorn,  ///< Word 0 of line `index`, the rest of the next.
  kHearInitiatorTorn,
  kKillInitiator,  ///< While it posts what it has to say to line `index`.
  kKillResponder,
  kKillOffering,
};
constexpr const char* kKindNames[] = {
    "initiator posts", "responder posts", "initiator hears", "responder hears",
    "initiator hears a line twice:", "responder hears a line twice:",
    "a line to the initiator is lost", "a line to the responder is lost", "offer", "cancel",
    "commit", "abort", "window of the initiator expires", "window of the responder expires",
    "the condition changes", "the link is reset", "initiator learns of the reset",
    "responder learns of the reset", "initiator restarts without memory",
    "responder restarts without memory", "initiator restarts with memory",
    "responder restarts with memory", "initiator hears, torn,", "responder hears, torn,",
    "initiator is killed while it answers", "responder is killed while it answers",
    "initiator is killed while it offers"};

enum OfferKind : uint8_t { kPlain, kConditional, kStandingOffer };

constexpr uint32_t kSerialWord = 0;
constexpr uint32_t kCellWord = 1;

void Put(std::string& key, const Message& line) {
  for (const uint64_t value :
       {uint64_t{line.txid}, uint64_t{line.epoch},
        uint64_t{static_cast<uint8_t>(line.phase)} | uint64_t{line.flags} << 4,
        uint64_t{line.peer_incarnation} | uint64_t{line.incarnation} << 4, line.key,
        line.payload[kSerialWord] | line.payload[kCellWord] << 4, uint64_t{line.binding}}) {
    key += static_cast<char>(value);
  }
}

std::string Text(const Message& line) {
  constexpr const char* kPhases[] = {"-",      "SYNC",  "IDLE",      "OFFER",     "CANCEL",  "COMMIT",
                                     "ABORT", "READY", "REFLECTED", "COMMITTED", "REJECTED"};
  char text[128];
  std::snprintf(text, sizeof(text), "%s(%u) epoch %u, from %u to %u",
                kPhases[static_cast<int>(line.phase)], line.txid, line.epoch, line.incarnation,
                line.peer_incarnation);
  return text;
}

}  // namespace

const char* PropertyName(uint8_t property) {
  constexpr const char* kNames[] = {"S1 agreement",       "S2 validity",      "S3 at most once",
                                    "S4 no silent drop",  "S5 reversibility", "S6 epoch, incarnation",
                                    "one end in doubt", "no false fault"};
  return kNames[property];
}

SwapWorld::SwapWorld(const Config& config)
    : config_(&config),
      initiator_(*config.machine, 1, 1),
      responder_(*config.machine, 1, 1) {
  if (config.on_demand) {
    Post(true);
    Post(false);
  }
}

bool SwapWorld::CanPost(const std::vector<Message>& channel, const Message& line) const {
  if (config_->on_demand) return false;
  if (line.peer_incarnation == 0 && line.phase != Phase::kSync) return false;
  if (!channel.empty() && channel.back() == line) return false;
  return !config_->in_order || channel.size() < config_->depth;
}

void SwapWorld::Post(bool initiator) {
  const bool publish = initiator ? initiator_.TakePublish() : responder_.TakePublish();
  if (config_->on_demand && !publish) return;
  Push(initiator ? to_responder_ : to_initiator_,
       initiator ? initiator_.line() : responder_.line());
}

void SwapWorld::Push(std::vector<Message>& channel, const Message& line) {
  if (!config_->in_order && channel.size() == config_->depth) channel.erase(channel.begin());
  channel.push_back(Torn(line, line));
}

// Every line takes the way through its 64 bytes.
Message SwapWorld::Torn(const Message& before, const Message& after) const {
  bar::Line line = Encode(after);
  line.word[0] = Encode(before).word[0];
  if (config_->unbound) {
    line.word[0] &= ~(uint64_t{0xf} << 60);
    line.word[1] &= 0xffffffff;
  }
  return Decode(line);
}

void SwapWorld::Moves(std::vector<Move>& moves) const {
  const auto add = [&moves](bool possible, Kind kind, uint8_t index = 0) {
    if (possible) moves.push_back({kind, index});
  };
  add(CanPost(to_responder_, initiator_.line()), kPostInitiator);
  add(CanPost(to_initiator_, responder_.line()), kPostResponder);
  if (config_->in_order) {
    add(!to_initiator_.empty(), kHearResponder);
    add(!to_responder_.empty(), kHearInitiator);
    add(!to_initiator_.empty(), kHearResponderTwice);
    add(!to_responder_.empty(), kHearInitiatorTwice);
    add(!to_initiator_.empty(), kLoseToInitiator);
    add(!to_responder_.empty(), kLoseToResponder);
  } else {
    for (uint8_t i = 0; i < to_initiator_.size(); ++i) add(true, kHearResponder, i);
    for (uint8_t i = 0; i < to_responder_.size(); ++i) add(true, kHearInitiator, i);
  }
  const Machine& machine = *config_->machine;
  const auto can = [&](Input input) {
    return machine.Find(Role::kInitiator, initiator_.state(), input).action != Action::kIgnore;
  };
  if (can(Input::kCallOffer) && !initiator_.suspect() && initiator_.identity().peer != 0 &&
      serial_ < config_->swaps) {
    add(true, kOffer, kPlain);
    add(config_->conditional, kOffer, kConditional);
    add(config_->standing, kOffer, kStandingOffer);
  }
  const bool standing = (initiator_.line().flags & kStanding) != 0;
  add((config_->cancel || standing) && can(Input::kCallCancel), kCancel);
  add(can(Input::kCallCommit), kCommit);
  add(config_->abort && can(Input::kCallAbort), kAbort);
  add(config_->expire && !initiator_.suspect() && can(Input::kExpired), kExpireInitiator);
  add(config_->expire && !responder_.suspect() &&
          machine.Find(Role::kResponder, responder_.state(), Input::kExpired).action !=
              Action::kIgnore,
      kExpireResponder);
  add(config_->conditional || config_->standing, kConditionChanges);
  add(resets_ < config_->resets, kLinkReset);
  add(initiator_.identity().epoch != epoch_, kResetInitiator);
  add(responder_.identity().epoch != epoch_, kResetResponder);
  add(initiator_restarts_ < config_->initiator_restarts, kRestartInitiator);
  add(responder_restarts_ < config_->responder_restarts, kRestartResponder);
  add(config_->resume, kResumeInitiator);
  add(config_->resume, kResumeResponder);
  if (!config_->torn) return;
  for (uint8_t i = 0; i + 1u < to_initiator_.size(); ++i) add(true, kHearResponderTorn, i);
  for (uint8_t i = 0; i + 1u < to_responder_.size(); ++i) add(true, kHearInitiatorTorn, i);
  if (!config_->on_demand || !config_->resume) return;
  for (uint8_t i = 0; i < to_initiator_.size(); ++i) add(true, kKillInitiator, i);
  for (uint8_t i = 0; i < to_responder_.size(); ++i) add(true, kKillResponder, i);
  add(initiator_.CanOffer() && serial_ < config_->swaps, kKillOffering);
}

bool SwapWorld::Benign(Move move) const {
  switch (move.kind) {
    case kPostInitiator:
    case kPostResponder:
    case kHearResponder:
    case kHearInitiator:
    case kCommit:
    case kAbort:
    case kResetInitiator:
    case kResetResponder:
      return true;
    case kCancel:  // Nothing else ends a standing offer whose condition never holds.
      return (initiator_.line().flags & kStanding) != 0;
    default:
      return false;
  }
}

void SwapWorld::Apply(Move move) {
  const auto take_first = [](std::vector<Message>& channel) {
    const Message line = channel.front();
    channel.erase(channel.begin());
    return line;
  };
  switch (move.kind) {
    case kPostInitiator:
      return Post(true);
    case kPostResponder:
      return Post(false);
    case kHearResponder:
      InitiatorHears(config_->in_order ? take_first(to_initiator_)
                                       : Message(to_initiator_[move.index]));
      break;
    case kHearInitiator:
      ResponderHears(config_->in_order ? take_first(to_responder_)
                                       : Message(to_responder_[move.index]));
      break;
    case kHearResponderTwice:
      InitiatorHears(Message(to_initiator_.front()));
      break;
    case kHearInitiatorTwice:
      ResponderHears(Message(to_responder_.front()));
      break;
    case kLoseToInitiator:
      take_first(to_initiator_);
      break;
    case kLoseToResponder:
      take_first(to_responder_);
      break;
    case kOffer:
      Offer(move.index);
      break;
    case kCancel:
      initiator_.Cancel();
      break;
    case kCommit:
      Report(*initiator_.Commit());
      break;
    case kAbort:
      initiator_.Abort();
      break;
    case kExpireInitiator:
      ExpireInitiator();
      break;
    case kExpireResponder:
      ExpireResponder();
      break;
    case kConditionChanges:
      condition_ = !condition_;
      break;
    case kLinkReset:
      ++resets_;
      ++epoch_;
      to_initiator_.clear();
      to_responder_.clear();
      break;
    case kResetInitiator:
      initiator_.Reset(epoch_);
      break;
    case kResetResponder:
      ResetResponder();
      break;
    case kRestartInitiator:
      RestartInitiator();
      break;
    case kRestartResponder:
      RestartResponder();
      break;
    case kResumeInitiator:
      initiator_ = Initiator::Resume(*config_->machine, epoch_, initiator_.line());
      resumed_ = true;
      break;
    case kResumeResponder:
      responder_ = Responder::Resume(*config_->machine, epoch_, responder_.line());
      break;
    case kHearResponderTorn:
      InitiatorHears(Torn(to_initiator_[move.index], to_initiator_[move.index + 1]));
      break;
    case kHearInitiatorTorn:
      ResponderHears(Torn(to_responder_[move.index], to_responder_[move.index + 1]));
      break;
    case kKillInitiator: {
      Initiator posting = initiator_;
      posting.Hear(to_initiator_[move.index]);
      if (posting.TakePublish()) KillInitiator(posting);
      break;
    }
    case kKillResponder: {
      Responder posting = responder_;
      posting.Hear(to_responder_[move.index], *this);
      if (posting.TakePublish()) KillResponder(posting);
      break;
    }
    case kKillOffering: {
      Initiator posting = initiator_;
      posting.MakeOffer({0, {serial_ + 1u, initiator_cell_}});
      KillInitiator(posting);
      break;
    }
  }
  if (config_->on_demand) {
    Post(true);
    Post(false);
  }
  Check();
}

// What was to be said was not said, nor done; the line is left as it was at that moment.
void SwapWorld::KillInitiator(const Initiator& posting) {
  const Message left = Torn(initiator_.line(), posting.line());
  Push(to_responder_, left);
  if (!Resumable(left)) return Violate(kSound);
  initiator_ = Initiator::Resume(*config_->machine, epoch_, left);
  resumed_ = true;
}

void SwapWorld::KillResponder(const Responder& posting) {
  const Message left = Torn(responder_.line(), posting.line());
  Push(to_initiator_, left);
  if (!Resumable(left)) return Violate(kSound);
  responder_ = Responder::Resume(*config_->machine, epoch_, left);
}

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
  const bool foreign = line.epoch != before.epoch ||
                       static_cast<int32_t>(line.incarnation - before.peer) < 0;
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
    Violate(kValidity);  // The record of another transaction.
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
  // A machine that rolls back when its window expires.
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
  const bool changed = event != Event::kNothing || responder_.state() != state ||
                       responder_.txid() != txid;
  const bool foreign = line.epoch != before.epoch ||
                       static_cast<int32_t>(line.incarnation - before.peer) < 0;
  if (foreign && (changed || !(responder_.identity() == before))) Violate(kIdentity);
  if (line.peer_incarnation != before.incarnation && changed && event != Event::kOrphaned) {
    Violate(kIdentity);
  }
  if (event == Event::kOrphaned && initiator_restarts_ == 0) Violate(kIdentity);
  ResponderDid(event, line);
}

void SwapWorld::Record(uint8_t serial, Fate fate) {
  Fate& known = ghost_[serial].responder;
  if (known != Fate::kNone && known != fate) Violate(kAgreement);  // With itself.
  known = fate;
}

void SwapWorld::ResponderDid(Event event, const Message& line) {
  if (event == Event::kNothing) return;
  const auto offered = static_cast<uint8_t>(line.payload[kSerialWord]);
  const bool was_held = held_ != 0;
  const uint8_t serial = was_held ? held_ : offered;
  if (!was_held) {
    // This overwrites the outcome of every earlier transaction.
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
  Record(held_, Fate::kRejected);  // A machine that rolls back when its window expires.
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
  // With four messages nothing commits without the initiator, so it decides when it says so.
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
  const bool initiator_doubts = initiator_.Unresolved() && last.decided == Fate::kNone &&
                                last.responder != Fate::kNone;
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

std::string SwapWorld::Key() const {
  std::string key;
  const auto put = [&key](auto... values) { ((key += static_cast<char>(values)), ...); };
  put(initiator_.state(), initiator_.identity().peer, initiator_.identity().epoch,
      initiator_.suspect() | responder_.suspect() << 1 | condition_ << 2 | resumed_ << 3 |
          memory_lost_ << 4,
      responder_.state(), responder_.identity().peer, responder_.identity().epoch, epoch_,
      resets_ | initiator_restarts_ << 2 | responder_restarts_ << 4,
      serial_ | held_ << 4, initiator_cell_ | responder_cell_ << 2 | held_cell_ << 4, violated_);
  Put(key, initiator_.line());
  Put(key, responder_.line());
  if (initiator_.state() == State::kValidate) Put(key, initiator_.answer());
  put(to_initiator_.size());
  for (const Message& line : to_initiator_) Put(key, line);
  put(to_responder_.size());
  for (const Message& line : to_responder_) Put(key, line);
  for (uint8_t serial = 1; serial <= serial_; ++serial) {
    const Ghost& ghost = ghost_[serial];
    put(static_cast<uint8_t>(ghost.responder) | static_cast<uint8_t>(ghost.decided) << 4,
        static_cast<uint8_t>(ghost.reported) | ghost.applied << 4);
  }
  return key;
}

std::string SwapWorld::Describe(Move move) const {
  std::string text = kKindNames[move.kind];
  switch (move.kind) {
    case kPostInitiator:
      return text + " " + Text(initiator_.line());
    case kPostResponder:
      return text + " " + Text(responder_.line());
    case kHearResponder:
    case kHearResponderTwice:
      return text + " " + Text(to_initiator_[move.index]);
    case kHearInitiator:
    case kHearInitiatorTwice:
      return text + " " + Text(to_responder_[move.index]);
    case kOffer:
      return text + (move.index == kPlain         ? ""
                     : move.index == kConditional ? " with a condition"
                                                  : " with a condition, standing");
    default:
      return text;
  }
}

std::string SwapWorld::Summary() const {
  constexpr const char* kStateNames[] = {"sync",     "faulted", "idle",  "offer", "cancel",
                                         "validate", "commit",  "abort", "ready", "tentative"};
  constexpr const char* kFates[] = {"-", "C", "X", "orphan", "forgotten"};
  std::string text = std::string("initiator ") + kStateNames[static_cast<int>(initiator_.state())] +
                     ", responder " + kStateNames[static_cast<int>(responder_.state())];
  for (uint8_t serial = 1; serial <= serial_; ++serial) {
    text += "; swap " + std::to_string(serial) + ": I=" +
            kFates[static_cast<int>(ghost_[serial].decided)] +
            " R=" + kFates[static_cast<int>(ghost_[serial].responder)];
  }
  for (uint8_t bit = 0; bit < 8; ++bit) {
    if ((violated_ >> bit & 1) != 0) text += std::string("  BROKEN: ") + PropertyName(bit);
  }
  return text;
}

}  // namespace sluice::swap::test
