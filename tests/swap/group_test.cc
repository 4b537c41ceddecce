// SPDX-License-Identifier: BSD-3-Clause
//
// Explores a swap among three parties, which are the production code, in every order of events and
// with kills of every party at every step. The same search must find the fault in each variant of
// the table that is known to be wrong. Further tests run a member that posts arbitrary lines, and
// print the consequences of each death for the survivors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "group_world.h"
#include "hostile_lines.h"

namespace sluice::swap::test {
namespace {

constexpr auto kApart = KeeperState::kApart;
constexpr auto kGather = KeeperState::kGather;
constexpr auto kCommitted = KeeperState::kCommitted;
constexpr auto kRejected = KeeperState::kRejected;

Exploration Explore(const std::string& name, const GroupConfig& config) {
  const Exploration found = Explorer(GroupWorld(config)).Run();
  std::printf("3 parties: %-48s %7llu states, violations %llu, stuck %llu\n", name.c_str(),
              static_cast<unsigned long long>(found.states),
              static_cast<unsigned long long>(found.violations()),
              static_cast<unsigned long long>(found.unresolvable));
  EXPECT_TRUE(found.complete) << name;
  return found;
}

void ExpectSafe(const std::string& name, const GroupConfig& config) {
  const Exploration found = Explore(name, config);
  EXPECT_EQ(found.violations(), 0u) << name << "\n" << found.trace;
  EXPECT_EQ(found.unresolvable, 0u) << name << "\n" << found.trace;
}

KeeperMachine With(std::initializer_list<KeeperRow> rows) {
  KeeperMachine machine = kKeeper;
  for (const KeeperRow& row : rows) machine.Set(row);
  return machine;
}

TEST(Group, AllCommitOrNoneWithKillsAtEveryStep) {
  ExpectSafe("2 rounds, kills, refusals, windows expire", {.rounds = 2, .expire = true});
  ExpectSafe("3 rounds, kills, refusals", {.rounds = 3});
}

TEST(Group, AllCommitOrNoneWhenAPartyLosesItsMemory) {
  ExpectSafe("2 rounds, kills, a member loses its memory",
             {.rounds = 2, .refuse = false, .member_losses = 1});
  ExpectSafe("1 round, kills, the keeper loses its memory",
             {.rounds = 1, .refuse = false, .keeper_losses = 1});
}

TEST(Group, AKeeperMayGiveUpBeforeItsCommitPoint) {
  const KeeperMachine gives_up =
      With({{kGather, KeeperInput::kExpired, kRejected, KeeperAction::kReject}});
  ExpectSafe("the keeper rejects a round when its window expires",
             {.keeper = &gives_up, .rounds = 2, .expire = true});
}

TEST(Group, UnsafeVariantsAreCaught) {
  const auto expect_broken = [](const std::string& name, const GroupConfig& config,
                                GroupWorld::Property property) {
    const Exploration found = Explore(name, config);
    EXPECT_GT(found.violating[property], 0u) << name << " was not caught\n" << found.trace;
  };
  const KeeperMachine cancels =
      With({{kCommitted, KeeperInput::kWithdrawn, kCommitted, KeeperAction::kIgnore}});
  expect_broken("unsafe: a cancel is obeyed after the commit", {.keeper = &cancels, .rounds = 1},
                GroupWorld::kAgreement);
  const KeeperMachine deaf =
      With({{kGather, KeeperInput::kWithdrawn, kGather, KeeperAction::kIgnore},
            {kApart, KeeperInput::kWithdrawn, kApart, KeeperAction::kIgnore}});
  expect_broken("unsafe: the round survives a cancelled offer", {.keeper = &deaf, .rounds = 1},
                GroupWorld::kAgreement);
  const KeeperMachine majority =
      With({{kGather, KeeperInput::kExpired, kCommitted, KeeperAction::kCommit}});
  expect_broken("unsafe: the round commits without a late party",
                {.keeper = &majority, .rounds = 1, .expire = true}, GroupWorld::kAtMostOnce);
  Machine impatient = kTwoMessage;
  impatient.Set({Variant::kTwoMessage, Role::kInitiator, State::kOffer, Input::kExpired,
                 State::kIdle, Action::kRestore});
  expect_broken("unsafe: a member rolls back when its window expires",
                {.member = &impatient, .rounds = 1, .expire = true}, GroupWorld::kAgreement);
  expect_broken("unsafe: lines are posted before the record is stored",
                {.rounds = 1, .late_record = true}, GroupWorld::kAgreement);
}

TEST(Group, AKeeperThatGivesUpAfterItsCommitPointLeavesMembersStuck) {
  const KeeperMachine forgets =
      With({{kCommitted, KeeperInput::kExpired, kRejected, KeeperAction::kReject}});
  const Exploration found = Explore("unsafe: the keeper gives up after its commit point",
                                    {.keeper = &forgets, .rounds = 1, .expire = true});
  EXPECT_GT(found.unresolvable, 0u);
}

TEST(Group, AHostileMemberCannotMakeTheOthersDisagree) {
  std::mt19937_64 random(7);
  uint64_t commits = 0, rejections = 0;
  for (int run = 0; run < 2000; ++run) {
    std::vector<uint8_t> bytes(300);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    fuzz::Choices choices(bytes.data(), bytes.size());
    Keeper keeper(kKeeper, 2, 1, 1);
    Initiator honest(kTwoMessage, 1, 1), bent(kTwoMessage, 1, 1);
    std::map<uint64_t, bool> decided;
    const auto note = [&decided](const std::optional<Round>& round) {
      if (round) decided[round->number] = round->committed;
    };
    uint64_t next = 1;
    while (!choices.empty()) {
      note(keeper.Hear(0, honest.line()));
      if (const std::optional<Result> result = honest.Hear(keeper.line(0))) {
        ASSERT_EQ(result->key, next);
        ASSERT_TRUE(decided.contains(next));
        ASSERT_EQ(result->outcome == Outcome::kCommitted, decided[next]);
        ++(decided[next] ? commits : rejections);
        ++next;
      }
      if (honest.CanOffer()) honest.MakeOffer(JoinRound(next, {}));
      note(keeper.Join({}));
      bent.Hear(keeper.line(1));
      if (bent.CanOffer()) bent.MakeOffer(JoinRound(keeper.round(), {}));
      if (choices.Byte() % 4 == 0) bent.Cancel();
      note(keeper.Hear(1, Decode(BendLine(bent.line(), choices))));
    }
  }
  EXPECT_GT(commits, 0u);
  EXPECT_GT(rejections, 0u);
}

// ------------------------------------------------- the consequences of each death

// The steps of a round, in the order that is used here. Party 1 is the first member.
struct Step {
  const char* name;
  std::vector<Move> moves;
};
const std::vector<Step>& Steps() {
  static const std::vector<Step> steps = {
      {"before the first offer", {}},
      {"after member 1 offered", {{GroupWorld::kOffer, 0}, {GroupWorld::kPostMember, 0}}},
      {"after member 2 offered, too",
       {{GroupWorld::kOffer, 1},
        {GroupWorld::kPostMember, 1},
        {GroupWorld::kHearMember, 0},
        {GroupWorld::kHearMember, 1}}},
      {"after the record was stored", {{GroupWorld::kJoin, 0}}},
      {"after the line to member 1 was posted",
       {{GroupWorld::kHearMember, 0}, {GroupWorld::kPostKeeper, 0}}},
      {"after both lines were posted",
       {{GroupWorld::kHearMember, 1}, {GroupWorld::kPostKeeper, 1}}},
  };
  return steps;
}

// Returns whether only `party` makes the move. A network move belongs to the process that posts or
// reads.
bool Belongs(Move move, size_t party) {
  switch (move.kind) {
    case GroupWorld::kPostKeeper:
    case GroupWorld::kHearMember:
    case GroupWorld::kStoreRecord:
    case GroupWorld::kJoin:
    case GroupWorld::kLeave:
    case GroupWorld::kKillKeeper:
      return party == 0;
    default:
      return move.index + 1u == party;
  }
}

// Runs all parties except `dead` (kParties: none is dead) until nothing changes. Applications join
// the first round; none refuses it.
void RunSurvivors(GroupWorld& world, size_t dead) {
  for (std::string before; before != world.Key();) {
    before = world.Key();
    std::vector<Move> moves;
    for (int kind = GroupWorld::kPostMember; kind <= GroupWorld::kJoin; ++kind) {
      moves.clear();
      world.Moves(moves);
      for (const Move move : moves) {
        if (move.kind != kind || kind == GroupWorld::kCancel || kind == GroupWorld::kKillMember ||
            Belongs(move, dead)) {
          continue;
        }
        std::vector<Move> still;
        world.Moves(still);
        const auto same = [move](Move m) { return m.kind == move.kind && m.index == move.index; };
        if (std::any_of(still.begin(), still.end(), same)) world.Apply(move);
      }
    }
  }
}

std::string Fates(const GroupWorld& world, size_t except) {
  std::string text;
  for (size_t party = 0; party < GroupWorld::kParties; ++party) {
    if (party == except) continue;
    if (!text.empty()) text += ", ";
    text += party == 0 ? "keeper " : "member " + std::to_string(party) + " ";
    const char fate = world.FateOf(party, 1);
    text += fate != '-' ? std::string(1, fate) : world.Waits(party) ? "waits" : "-";
  }
  return text;
}

TEST(Group, TableOfDeaths) {
  static const GroupConfig config{.rounds = 1};
  std::printf(
      "| dies | step | survivors while it is dead | after its process resumed | after its "
      "heir withdrew |\n|---|---|---|---|---|\n");
  for (const size_t victim : {size_t{1}, size_t{2}, size_t{0}}) {
    GroupWorld world(config);
    for (const Step& step : Steps()) {
      for (const Move move : step.moves) world.Apply(move);
      GroupWorld dead = world;
      RunSurvivors(dead, victim);
      const std::string meanwhile = Fates(dead, victim);

      // The process, or another one that adopts its memory, resumes from this memory.
      const Move resume = victim == 0
                              ? Move{GroupWorld::kKillKeeper, 0}
                              : Move{GroupWorld::kKillMember, static_cast<uint8_t>(victim - 1)};
      GroupWorld resumed = dead;
      resumed.Apply(resume);
      GroupWorld withdrawn = resumed;
      RunSurvivors(resumed, GroupWorld::kParties);
      EXPECT_TRUE(resumed.Resolved());

      // An heir that has no application adopts the memory in order to end the round.
      if (victim == 0) {
        withdrawn.Apply({GroupWorld::kLeave, 0});
      } else {
        const auto member = static_cast<uint8_t>(victim - 1);
        if (!withdrawn.Waits(victim)) withdrawn.Apply({GroupWorld::kOffer, member});
        withdrawn.Apply({GroupWorld::kCancel, member});
      }
      RunSurvivors(withdrawn, GroupWorld::kParties);
      EXPECT_TRUE(withdrawn.Resolved());
      for (const GroupWorld* end : {&dead, &resumed, &withdrawn}) EXPECT_EQ(end->violated(), 0u);
      const auto outcome = [](const GroupWorld& end) {
        const char fate = end.FateOf(0, 1);
        for (size_t party = 1; party < GroupWorld::kParties; ++party) {
          EXPECT_EQ(end.FateOf(party, 1), fate);
        }
        return std::string("all ") + fate;
      };
      std::printf("| %s | %s | %s | %s | %s |\n",
                  victim == 0 ? "keeper" : ("member " + std::to_string(victim)).c_str(), step.name,
                  meanwhile.c_str(), outcome(resumed).c_str(), outcome(withdrawn).c_str());
    }
  }
}

}  // namespace
}  // namespace sluice::swap::test
