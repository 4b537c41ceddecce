// SPDX-License-Identifier: BSD-3-Clause
//
// The adversary: enumerates the possible moves and applies them.
#include "world.h"

#include "world_moves.h"

namespace sluice::swap::test {

SwapWorld::SwapWorld(const Config& config)
    : config_(&config), initiator_(*config.machine, 1, 1), responder_(*config.machine, 1, 1) {
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
  const bool publish = initiator ? initiator_.ConsumeUpdate() : responder_.ConsumeUpdate();
  if (config_->on_demand && !publish) return;
  Push(initiator ? to_responder_ : to_initiator_,
       initiator ? initiator_.line() : responder_.line());
}

void SwapWorld::Push(std::vector<Message>& channel, const Message& line) {
  if (!config_->in_order && channel.size() == config_->depth) channel.erase(channel.begin());
  channel.push_back(Torn(line, line));
}

// Returns a torn line: word 0 of `before` with the other words of `after`.
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
    case kCancel:  // A standing offer whose condition never holds ends only if it is cancelled.
      return (initiator_.line().flags & kStanding) != 0;
    default:
      return false;
  }
}

void SwapWorld::Apply(Move move) {
  const auto pop_first = [](std::vector<Message>& channel) {
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
      InitiatorHears(config_->in_order ? pop_first(to_initiator_)
                                       : Message(to_initiator_[move.index]));
      break;
    case kHearInitiator:
      ResponderHears(config_->in_order ? pop_first(to_responder_)
                                       : Message(to_responder_[move.index]));
      break;
    case kHearResponderTwice:
      InitiatorHears(Message(to_initiator_.front()));
      break;
    case kHearInitiatorTwice:
      ResponderHears(Message(to_responder_.front()));
      break;
    case kLoseToInitiator:
      pop_first(to_initiator_);
      break;
    case kLoseToResponder:
      pop_first(to_responder_);
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
      if (posting.ConsumeUpdate()) KillInitiator(posting);
      break;
    }
    case kKillResponder: {
      Responder posting = responder_;
      posting.Hear(to_responder_[move.index], *this);
      if (posting.ConsumeUpdate()) KillResponder(posting);
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

// Kills the initiator while it stores its new line. The peer can receive the torn line, and the
// initiator resumes from it.
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

}  // namespace sluice::swap::test
