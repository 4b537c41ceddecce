// SPDX-License-Identifier: BSD-3-Clause
#include "swap/group.h"

#include <algorithm>

namespace sluice::swap {

Keeper::Keeper(const KeeperMachine& table, size_t members, uint16_t epoch, uint32_t incarnation)
    : table_(&table), seats_(members, Seat{Responder(kTwoMessage, epoch, incarnation)}) {
  record_.incarnation = incarnation;
  record_.parts.resize(members);
}

bool Keeper::CanResume(const KeeperRecord& record, std::span<const Message> lines) {
  if (lines.empty() || record.parts.size() != lines.size()) return false;
  return std::ranges::all_of(lines, [&](const Message& line) {
    return Resumable(line) && line.incarnation == record.incarnation;
  });
}

Keeper Keeper::Resume(const KeeperMachine& table, uint16_t epoch, const KeeperRecord& record,
                      std::span<const Message> lines) {
  Keeper keeper(table);
  keeper.record_ = record;
  for (const Message& line : lines) {
    keeper.seats_.push_back(Seat{Responder::Resume(kTwoMessage, epoch, line)});
  }
  if (record.round.number == 0) return keeper;
  keeper.state_ = record.round.committed ? KeeperState::kCommitted : KeeperState::kRejected;
  keeper.CountUnanswered();
  return keeper;
}

std::optional<Round> Keeper::Join(const Payload& part) {
  if (state_ == KeeperState::kApart) part_ = part;
  Step(KeeperInput::kJoin);
  return offers_ == seats_.size() ? Step(KeeperInput::kComplete) : std::nullopt;
}

std::optional<Round> Keeper::Leave() { return Step(KeeperInput::kLeave); }

std::optional<Round> Keeper::Hear(size_t member, const Message& line) {
  Seat& seat = seats_[member];
  Message heard = line;
  if (Decided() && line.phase == Phase::kCancel) {
    // The next round's cancel waits until this round ends.
    if (line.key != record_.round.number) return std::nullopt;
    const KeeperAction action = table_->Find(state_, KeeperInput::kWithdrawn).action;
    if (action == KeeperAction::kTooLate) heard.phase = Phase::kOffer;
  }
  const uint32_t peer = seat.end.identity().peer;
  withdrawn_ = false;
  Condition condition{*this, member};
  seat.end.Hear(heard, condition);
  if (seat.end.identity().peer != peer && seat.offered) {  // The member has lost its memory.
    seat.offered = false;
    --offers_;
  }
  std::optional<Round> round;
  if (withdrawn_) {
    round = Step(KeeperInput::kWithdrawn);
  } else if (offers_ == seats_.size()) {
    round = Step(KeeperInput::kComplete);
  }
  if (!seat.answered && Answered(member)) {
    seat.answered = true;
    if (--unanswered_ == 0) Step(KeeperInput::kAnswered);
  }
  return round;
}

// A round ends when each member's line contains the round's outcome, or cannot contain it because
// the member has lost its memory of a commit.
bool Keeper::Answered(size_t member) const {
  const Responder& end = seats_[member].end;
  const Phase phase = end.line().phase;
  if ((phase == Phase::kCommitted || phase == Phase::kRejected) &&
      end.line().key == record_.round.number) {
    return true;
  }
  const uint32_t peer = end.identity().peer;
  return record_.round.committed && peer != 0 && peer != record_.parts[member].incarnation;
}

Answer Keeper::Evaluate(size_t member, const Message& offer, Reply& reply) {
  Seat& seat = seats_[member];
  const uint64_t last = record_.round.number;
  const KeeperRecord::Part& part = record_.parts[member];
  reply.key = last;
  if (Decided() && offer.key == last && !record_.round.committed) return Answer::kFalse;
  if (Decided() && offer.key == last && part.incarnation == offer.incarnation) {
    reply.payload = part.given;
    return Answer::kTrue;
  }
  if (offer.key != last + 1 || (offer.flags & kStanding) == 0) {
    reply.flags = kConflict;
    return Answer::kFalse;
  }
  if (Decided()) return Answer::kLater;
  if (offer.phase == Phase::kCancel) {
    reply.key = offer.key;
    withdrawn_ = true;
    return Answer::kFalse;
  }
  if (!seat.offered) {
    seat.offered = true;
    seat.incarnation = offer.incarnation;
    seat.part = offer.payload;
    ++offers_;
    suspect_ = false;
  }
  return Answer::kLater;
}

std::optional<Round> Keeper::Step(KeeperInput input) {
  const KeeperTransition move = table_->Find(state_, input);
  state_ = move.next;
  switch (move.action) {
    case KeeperAction::kCommit:
      Commit();
      return record_.round;
    case KeeperAction::kReject:
      Reject();
      return record_.round;
    case KeeperAction::kSuspect:
      suspect_ = true;
      return std::nullopt;
    default:  // kJoin stores the part; kTooLate changes the line that is processed.
      return std::nullopt;
  }
}

void Keeper::Commit() {
  const Payload* before = &part_;
  for (size_t i = 0; i < seats_.size(); ++i) {
    record_.parts[i] = {seats_[i].incarnation, *before};
    before = &seats_[i].part;
  }
  record_.round = {record_.round.number + 1, true, *before};
  new_record_ = true;
  CountUnanswered();
}

void Keeper::Reject() {
  record_.round = {record_.round.number + 1, false, {}};
  new_record_ = true;
  CountUnanswered();
}

// Finds and counts the members whose line does not yet contain the outcome in the record.
void Keeper::CountUnanswered() {
  suspect_ = false;
  offers_ = 0;
  unanswered_ = 0;
  for (size_t i = 0; i < seats_.size(); ++i) {
    seats_[i].offered = false;
    seats_[i].answered = Answered(i);
    unanswered_ += !seats_[i].answered;
  }
  if (unanswered_ == 0) Step(KeeperInput::kAnswered);
}

}  // namespace sluice::swap
