// SPDX-License-Identifier: BSD-3-Clause
#include "group_world.h"

#include <algorithm>
#include <cstdio>

namespace sluice::swap::test {
namespace {

constexpr uint32_t kCellWord = 1;  ///< Payload word for the content of a party's cell.

void Put(std::string& key, const Message& line) {
  for (const uint64_t value :
       {uint64_t{line.txid}, uint64_t{static_cast<uint8_t>(line.phase)} | uint64_t{line.flags} << 4,
        uint64_t{line.peer_incarnation} | uint64_t{line.incarnation} << 4, line.key,
        line.payload[kCellWord], uint64_t{line.binding}}) {
    key += static_cast<char>(value);
  }
}

}  // namespace

GroupWorld::GroupWorld(const GroupConfig& config)
    : config_(&config),
      keeper_(*config.keeper, kMembers, 1, 1),
      members_{Initiator(*config.member, 1, 1), Initiator(*config.member, 1, 1)} {
  for (auto& era : fates_) {
    for (auto& round : era) round.fill('-');
  }
  // Exchanges lines until all links are up. The search begins in this state.
  stored_ = keeper_.record();
  for (int i = 0; i < 4; ++i) {
    for (uint8_t member = 0; member < kMembers; ++member) {
      Apply({kPostMember, member});
      Apply({kPostKeeper, member});
      Apply({kHearMember, member});
      Apply({kHearKeeper, member});
    }
  }
}

bool GroupWorld::MemberMayPost(size_t member) const {
  const Message& line = members_[member].line();
  return line != to_keeper_[member] && (line.peer_incarnation != 0 || line.phase == Phase::kSync);
}
bool GroupWorld::KeeperMayPost(size_t member) const {
  const Message& line = keeper_.line(member);
  return line != to_member_[member] && (line.peer_incarnation != 0 || line.phase == Phase::kSync);
}

void GroupWorld::Moves(std::vector<Move>& moves) const {
  const auto add = [&moves](bool possible, Kind kind, size_t index = 0) {
    if (possible) moves.push_back({kind, static_cast<uint8_t>(index)});
  };
  const bool posted = !KeeperMayPost(0) && !KeeperMayPost(1);
  for (size_t i = 0; i < kMembers; ++i) {
    const Initiator& member = members_[i];
    const auto can = [&](Input input) {
      return config_->member->Find(Role::kInitiator, member.state(), input).action !=
             Action::kIgnore;
    };
    add(MemberMayPost(i), kPostMember, i);
    add(KeeperMayPost(i), kPostKeeper, i);
    add(posted, kHearMember, i);
    add(true, kHearKeeper, i);
    add(member.CanOffer() && next_round_[i] <= config_->rounds + keeper_losses_ &&
            member.txid() < config_->rounds + 3u * (losses_[i] + keeper_losses_),
        kOffer, i);
    add(config_->refuse && can(Input::kCallCancel), kCancel, i);
    add(config_->expire && !member.suspect() && can(Input::kExpired), kExpireMember, i);
    add(config_->kill, kKillMember, i);
    add(losses_[i] < config_->member_losses, kForgetMember, i);
  }
  const bool open = posted && keeper_.round() <= config_->rounds + keeper_losses_;
  add(config_->late_record && stored_.round.number != keeper_.record().round.number, kStoreRecord);
  add(open && keeper_.state() == KeeperState::kApart, kJoin);
  add(config_->refuse && open, kLeave);
  add(config_->expire && !keeper_.suspect(), kExpireKeeper);
  add(config_->kill && Keeper::CanResume(stored_, to_member_), kKillKeeper);
  add(keeper_losses_ < config_->keeper_losses, kForgetKeeper);
}

// A live application eventually joins, cancels or refuses; a live process reads and posts.
bool GroupWorld::Benign(Move move) const {
  return move.kind <= kCancel || move.kind == kStoreRecord || move.kind == kJoin ||
         move.kind == kLeave;
}

void GroupWorld::Apply(Move move) {
  const size_t i = move.index;
  switch (static_cast<Kind>(move.kind)) {
    case kPostMember:
      to_keeper_[i] = members_[i].line();
      break;
    case kPostKeeper:
      to_member_[i] = keeper_.line(i);
      break;
    case kHearMember:
      Decide(keeper_.Hear(i, to_keeper_[i]));
      if (!keeper_.Offered(i)) {
        noted_[i] = 0;
      } else if (noted_[i] == 0) {
        noted_[i] = static_cast<uint8_t>(to_keeper_[i].payload[kCellWord]);
      }
      break;
    case kHearKeeper:
      if (const auto result = members_[i].Hear(to_member_[i])) Report(i, *result);
      break;
    case kOffer:
      members_[i].MakeOffer(JoinRound(next_round_[i], {0, cells_[i + 1]}));
      break;
    case kCancel:
      members_[i].Cancel();
      break;
    case kExpireMember: {
      const State before = members_[i].state();
      const uint64_t round = members_[i].line().key;
      members_[i].Expire();
      // An unsafe variant rolls back here.
      if (before != members_[i].state()) Record(EraOf(i), round, i + 1, 'X');
      break;
    }
    case kKillMember:
      if (!Resumable(to_keeper_[i])) break;
      members_[i] = Initiator::Resume(*config_->member, 1, to_keeper_[i]);
      break;
    case kForgetMember:
      ++losses_[i];
      members_[i] = Initiator(*config_->member, 1, 1u + losses_[i]);
      next_round_[i] = 1;
      cells_[i + 1] = static_cast<uint8_t>(4 + i);
      break;
    case kStoreRecord:
      stored_ = keeper_.record();
      break;
    case kJoin:
      Decide(keeper_.Join({0, cells_[0]}));
      break;
    case kLeave:
      Decide(keeper_.Leave());
      break;
    case kExpireKeeper:
      keeper_.Expire();
      Decide(keeper_.ConsumeRecord() ? std::optional(keeper_.record().round) : std::nullopt);
      break;
    case kKillKeeper:
      keeper_ = Keeper::Resume(*config_->keeper, 1, stored_, to_member_);
      break;
    case kForgetKeeper:
      ++keeper_losses_;
      era_ = keeper_losses_;
      keeper_ = Keeper(*config_->keeper, kMembers, 1, 1u + keeper_losses_);
      stored_ = keeper_.record();
      cells_[0] = 6;
      break;
  }
  keeper_.ConsumeRecord();
  if (!config_->late_record) stored_ = keeper_.record();
  const bool faulted =
      std::any_of(members_.begin(), members_.end(), [](const auto& m) { return m.faulted(); });
  if (faulted) Violate(kSound);
}

void GroupWorld::Record(size_t era, uint64_t round, size_t party, char fate) {
  auto& fates = fates_[era][round];
  if (fates[party] != '-' && fates[party] != fate) Violate(kAtMostOnce);
  fates[party] = fate;
  const auto any = [&fates](char wanted) {
    return std::find(fates.begin(), fates.end(), wanted) != fates.end();
  };
  if (any('C') && any('X')) Violate(kAgreement);
}

void GroupWorld::Decide(const std::optional<Round>& round) {
  if (!round) return;
  const bool again = fates_[era_][round->number][0] != '-';
  Record(era_, round->number, 0, round->committed ? 'C' : 'X');
  if (!round->committed || again) return;
  // Computes the content that each party must receive. A member's part is in its offer, and the
  // keeper's part is its cell.
  auto& due = due_[era_][round->number];
  std::array<uint8_t, kParties> parts{cells_[0]}, given{};
  for (size_t i = 0; i < kMembers; ++i) {
    // The keeper received the offer that completes the round in this move, so noted_ lacks it.
    const auto posted = static_cast<uint8_t>(to_keeper_[i].payload[kCellWord]);
    parts[i + 1] = noted_[i] != 0 ? noted_[i] : posted;
    given[i + 1] = static_cast<uint8_t>(keeper_.record().parts[i].given[kCellWord]);
    due[i + 1] = parts[i];
  }
  given[0] = static_cast<uint8_t>(round->given[kCellWord]);
  due[0] = parts[kMembers];
  if (given != due) Violate(kAtMostOnce);
  cells_[0] = given[0];
}

void GroupWorld::Report(size_t i, const Result& result) {
  const size_t era = EraOf(i);
  const uint64_t round = members_[i].line().key;
  if (result.outcome == Outcome::kOrphaned) {
    if (keeper_losses_ == 0) Violate(kIdentity);
    next_round_[i] = 1;
    return;
  }
  next_round_[i] = static_cast<uint8_t>(result.key + 1);
  if ((result.flags & kConflict) != 0) return;
  if (result.key != round) Violate(kValidity);
  const bool committed = result.outcome == Outcome::kCommitted;
  const bool again = fates_[era][round][i + 1] != '-';
  Record(era, round, i + 1, committed ? 'C' : 'X');
  if (!committed || again) return;
  if (fates_[era][round][0] != 'C') Violate(kValidity);
  if (result.payload[kCellWord] != due_[era][round][i + 1]) Violate(kAtMostOnce);
  cells_[i + 1] = static_cast<uint8_t>(result.payload[kCellWord]);
}

bool GroupWorld::Waits(size_t party) const {
  if (party == 0) return keeper_.state() == KeeperState::kGather;
  return members_[party - 1].Unresolved();
}

bool GroupWorld::Resolved() const {
  for (size_t party = 0; party < kParties; ++party) {
    if (Waits(party)) return false;
  }
  return std::all_of(members_.begin(), members_.end(),
                     [](const auto& member) { return member.state() == State::kIdle; });
}

std::string GroupWorld::Key() const {
  std::string key;
  const auto put = [&key](auto... values) { ((key += static_cast<char>(values)), ...); };
  put(keeper_.state(), keeper_.record().round.number, keeper_.record().round.committed,
      keeper_.suspect(), stored_.round.number, stored_.round.committed, keeper_losses_, era_,
      violated_, cells_[0]);
  for (size_t i = 0; i < kMembers; ++i) {
    put(members_[i].state(), members_[i].suspect(), members_[i].identity().peer, keeper_.Offered(i),
        keeper_.identity(i).peer, next_round_[i], losses_[i], noted_[i], cells_[i + 1],
        keeper_.record().parts[i].incarnation, keeper_.record().parts[i].given[kCellWord]);
    Put(key, members_[i].line());
    Put(key, keeper_.line(i));
    Put(key, to_keeper_[i]);
    Put(key, to_member_[i]);
  }
  for (size_t era = 0; era <= era_; ++era) {
    for (size_t round = 1; round <= config_->rounds; ++round) {
      for (const char fate : fates_[era][round]) put(fate);
      for (const uint8_t due : due_[era][round]) put(due);
    }
  }
  return key;
}

std::string GroupWorld::Describe(Move move) const {
  constexpr const char* kNames[] = {"member posts",
                                    "keeper posts to member",
                                    "keeper hears member",
                                    "keeper's line is heard by member",
                                    "offer of member",
                                    "cancel of member",
                                    "window expires at member",
                                    "kill and resumption of member",
                                    "restart without memory of member",
                                    "keeper stores its record",
                                    "keeper joins",
                                    "keeper refuses",
                                    "window of the keeper expires",
                                    "keeper is killed and resumed",
                                    "keeper restarts without memory"};
  const std::string name = kNames[move.kind];
  return move.kind <= kForgetMember ? name + " " + std::to_string(move.index + 1) : name;
}

std::string GroupWorld::Summary() const {
  constexpr const char* kStates[] = {"apart", "gathers", "committed", "rejected"};
  std::string text = "keeper " + std::string(kStates[static_cast<int>(keeper_.state())]) +
                     " round " + std::to_string(keeper_.round()) + ", record " +
                     std::to_string(stored_.round.number) +
                     (stored_.round.committed ? " C" : " X") + "; known outcomes";
  for (uint8_t round = 1; round <= config_->rounds; ++round) {
    text += " ";
    for (size_t party = 0; party < kParties; ++party) text += FateOf(party, round);
  }
  return text;
}

}  // namespace sluice::swap::test
