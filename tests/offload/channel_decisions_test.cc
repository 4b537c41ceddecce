// SPDX-License-Identifier: BSD-3-Clause
//
// Tests both channels' contract for decisions, whether requested or not: recalls, and the host's
// rulings (lib/offload/item.h).
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "channel_fixture.h"

namespace sluice::offload {
namespace {

// --- Decisions.

TYPED_TEST(Channel, ADecisionIsEnforcedOnceAndItsOutcomeIsTakenOnce) {
  auto& rig = this->rig_;
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kNone);
  for (uint64_t n = 1; n <= 20; ++n) {
    ASSERT_TRUE(rig.nic().CanCommit(0));
    rig.nic().Commit(0, Numbered(n), n % 2 == 0 ? Urgency::kPrestaged : Urgency::kInterrupt);
    EXPECT_FALSE(rig.nic().CanCommit(0));
    EXPECT_FALSE(rig.PollOutcome(0, this->out_, this->how_));
    EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kEnforced);
    EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kNone);
    ASSERT_EQ(this->judge_.applied.size(), n);
    EXPECT_EQ(this->judge_.applied.back(), Numbered(n));
    ASSERT_TRUE(rig.PollOutcome(0, this->out_, this->how_));
    EXPECT_EQ(this->how_, Decided::kEnforced);
    EXPECT_EQ(this->out_, (Item{{500, n, 0, 0, ~uint64_t{0} >> 1}}));
    EXPECT_FALSE(rig.PollOutcome(0, this->out_, this->how_));
  }
  EXPECT_EQ(rig.Faults(), 0u);
}

TYPED_TEST(Channel, ARefusalCarriesTheFreshState) {
  auto& rig = this->rig_;
  rig.nic().Commit(2, Numbered(7), Urgency::kInterrupt);
  this->judge_.ruling = Ruling::kRefuse;
  EXPECT_EQ(rig.Decide(2, this->judge_), Decided::kRefused);
  EXPECT_TRUE(this->judge_.applied.empty());
  ASSERT_TRUE(rig.PollOutcome(2, this->out_, this->how_));
  EXPECT_EQ(this->how_, Decided::kRefused);
  EXPECT_EQ(this->out_, (Item{{500, 7, 0, 0, ~uint64_t{0} >> 1}}));
  this->ExpectWorks(rig, 8);
}

TYPED_TEST(Channel, ADecisionWhoseMomentHasNotComeWaits) {
  auto& rig = this->rig_;
  rig.nic().Commit(0, Numbered(7), Urgency::kPrestaged);
  this->judge_.ruling = Ruling::kLater;
  for (uint32_t look = 1; look <= 3; ++look) {
    EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kNone);
    EXPECT_EQ(this->judge_.checks, look);
    EXPECT_FALSE(rig.PollOutcome(0, this->out_, this->how_));
  }
  this->judge_.ruling = Ruling::kEnforce;
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kEnforced);
  EXPECT_TRUE(rig.PollOutcome(0, this->out_, this->how_));
}

TYPED_TEST(Channel, LookShowsADecisionAndRulesOnNothing) {
  auto& rig = this->rig_;
  rig.Settle();
  EXPECT_FALSE(rig.host().Look(1, this->out_));
  rig.nic().Commit(1, Numbered(7), Urgency::kPrestaged);
  rig.Settle();
  for (uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(rig.host().Look(1, this->out_));
    EXPECT_EQ(this->out_, Numbered(7));
  }
  EXPECT_FALSE(rig.host().Look(0, this->out_));
  EXPECT_FALSE(rig.PollOutcome(1, this->out_, this->how_));
  EXPECT_EQ(rig.Decide(1, this->judge_), Decided::kEnforced);
  rig.Settle();
  EXPECT_FALSE(rig.host().Look(1, this->out_));
}

TYPED_TEST(Channel, SlotsDecideIndependently) {
  auto& rig = this->rig_;
  for (Slot slot = 0; slot < 3; ++slot) {
    rig.nic().Commit(slot, Numbered(slot + 10), Urgency::kInterrupt);
  }
  EXPECT_EQ(rig.Decide(1, this->judge_), Decided::kEnforced);
  EXPECT_EQ(this->judge_.applied, std::vector{Numbered(11)});
  EXPECT_EQ(this->judge_.slots, std::vector{Slot{1}});
  EXPECT_FALSE(rig.PollOutcome(0, this->out_, this->how_));
  EXPECT_FALSE(rig.PollOutcome(2, this->out_, this->how_));
  EXPECT_TRUE(rig.PollOutcome(1, this->out_, this->how_));
  EXPECT_EQ(rig.Decide(2, this->judge_), Decided::kEnforced);
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kEnforced);
}

// --- Requested decisions.

TYPED_TEST(Channel, AnAskIsAnEventAndTheDecisionAfterItIsRuledOnLikeAnyOther) {
  auto& rig = this->rig_;
  for (uint64_t n = 1; n <= 20; ++n) {
    this->Ask(0, n);
    this->judge_.ruling = Ruling::kLater;
    rig.nic().Commit(0, Numbered(100 + n), Urgency::kInterrupt);
    rig.Settle();
    ASSERT_TRUE(rig.host().Look(0, this->out_));
    EXPECT_EQ(this->out_, Numbered(100 + n));
    EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kNone);
    const bool enforce = n % 3 != 0;
    this->judge_.ruling = enforce ? Ruling::kEnforce : Ruling::kRefuse;
    this->judge_.applied.clear();
    EXPECT_FALSE(rig.nic().CanCommit(0));
    ASSERT_EQ(rig.Decide(0, this->judge_), enforce ? Decided::kEnforced : Decided::kRefused);
    EXPECT_EQ(this->judge_.applied.size(), enforce ? 1u : 0u);
    ASSERT_TRUE(rig.PollOutcome(0, this->out_, this->how_));
    EXPECT_EQ(this->how_, enforce ? Decided::kEnforced : Decided::kRefused);
    EXPECT_EQ(this->out_, (Item{{500, 100 + n, 0, 0, ~uint64_t{0} >> 1}}));
    rig.Settle();
  }
  EXPECT_EQ(rig.Faults(), 0u);
}

TYPED_TEST(Channel, AnAskWhileTheLastIsOpenIsStillDelivered) {
  auto& rig = this->rig_;
  this->Ask(0, 1);
  this->Ask(0, 2);
  this->Ask(1, 3);
  rig.nic().Commit(0, Numbered(4), Urgency::kInterrupt);
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kEnforced);
  EXPECT_TRUE(rig.PollOutcome(0, this->out_, this->how_));
  rig.nic().Commit(0, Numbered(5), Urgency::kInterrupt);
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kEnforced);
  EXPECT_TRUE(rig.PollOutcome(0, this->out_, this->how_));
  EXPECT_EQ(this->judge_.applied, (std::vector{Numbered(4), Numbered(5)}));
  EXPECT_EQ(rig.Faults(), 0u);
}

TYPED_TEST(Channel, APrestagedDecisionCanBeRecalledThoughAnAskIsOpen) {
  auto& rig = this->rig_;
  this->Ask(0, 1);
  rig.nic().Commit(0, Numbered(4), Urgency::kPrestaged);
  EXPECT_TRUE(rig.nic().Recall(0));
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kRefused);
  EXPECT_TRUE(rig.PollOutcome(0, this->out_, this->how_));
  rig.nic().Commit(0, Numbered(5), Urgency::kInterrupt);
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kEnforced);
  EXPECT_EQ(this->judge_.applied, std::vector{Numbered(5)});
}

// --- Recalls.

TYPED_TEST(Channel, ARecallInTimeEndsAsARefusalWithTheJudgesWordForIt) {
  auto& rig = this->rig_;
  rig.nic().Commit(0, Numbered(7), Urgency::kPrestaged);
  this->judge_.ruling = Ruling::kLater;
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kNone);
  EXPECT_TRUE(rig.nic().Recall(0));
  rig.Settle();
  EXPECT_FALSE(rig.host().Look(0, this->out_));
  EXPECT_FALSE(rig.nic().CanCommit(0));
  EXPECT_FALSE(rig.PollOutcome(0, this->out_, this->how_));
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kRefused);
  EXPECT_TRUE(this->judge_.applied.empty());
  ASSERT_TRUE(rig.PollOutcome(0, this->out_, this->how_));
  EXPECT_EQ(this->how_, Decided::kRefused);
  EXPECT_EQ(this->out_, (Item{{501, 7, 0, 0, 0}}));
  this->ExpectWorks(rig, 8);
}

TYPED_TEST(Channel, ARecallTooLateFindsTheDecisionEnforced) {
  auto& rig = this->rig_;
  rig.nic().Commit(0, Numbered(7), Urgency::kPrestaged);
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kEnforced);
  EXPECT_TRUE(rig.nic().Recall(0));  // The agent cannot know the outcome yet.
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kNone);
  ASSERT_TRUE(rig.PollOutcome(0, this->out_, this->how_));
  EXPECT_EQ(this->how_, Decided::kEnforced);
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kNone);
  EXPECT_EQ(this->judge_.applied.size(), 1u);
  this->ExpectWorks(rig, 8);
  EXPECT_EQ(rig.Faults(), 0u);
}

TYPED_TEST(Channel, ThereIsNothingToRecallBeforeACommitOrAfterItsOutcomeOrTwice) {
  auto& rig = this->rig_;
  EXPECT_FALSE(rig.nic().Recall(0));
  rig.nic().Commit(0, Numbered(7), Urgency::kPrestaged);
  EXPECT_TRUE(rig.nic().Recall(0));
  EXPECT_FALSE(rig.nic().Recall(0));
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kRefused);
  ASSERT_TRUE(rig.PollOutcome(0, this->out_, this->how_));
  EXPECT_FALSE(rig.nic().Recall(0));
}

// --- Lines in flight.

/// The events of a random run at both ends.
struct Ledger {
  std::map<uint64_t, Decided> ruled;  ///< The host's rulings, by the decision's first word.
  std::map<uint64_t, Decided> told;   ///< The outcomes that the agent received.
  std::vector<uint64_t> sent, received;
};

TYPED_TEST(Channel, InARandomRunBothEndsAgreeOnEveryDecision) {
  TypeParam rig(2, 4);
  ASSERT_TRUE(rig.Meet());
  std::mt19937_64 random(7);
  Ledger ledger;
  Item out;
  uint64_t committed = 0;
  for (uint32_t step = 0; step < 6000; ++step) {
    const Slot slot = random() % 2;
    Decided how = Decided::kNone;
    switch (random() % 8) {
      case 0:
        if (rig.host().room() == 0) break;
        ledger.sent.push_back(step);
        ASSERT_TRUE(random() % 2 == 0 ? rig.host().Ask(slot, Numbered(step))
                                      : rig.host().Send(Numbered(step)));
        break;
      case 1:
        if (!rig.nic().Receive(out)) break;
        ledger.received.push_back(out.word[0]);
        ASSERT_EQ(out, Numbered(out.word[0]));
        break;
      case 2:
        if (!rig.nic().CanCommit(slot)) break;
        rig.nic().Commit(slot, Numbered(++committed),
                         random() % 2 == 0 ? Urgency::kPrestaged : Urgency::kInterrupt);
        break;
      case 3:
        if (random() % 4 == 0) rig.nic().Recall(slot);
        break;
      case 4:
      case 5: {
        TestJudge judge;
        judge.ruling = static_cast<Ruling>(random() % 3);
        how = rig.host().Decide(slot, judge);
        if (how == Decided::kNone) {
          ASSERT_TRUE(judge.applied.empty());
          break;
        }
        ASSERT_EQ(judge.applied.size(), how == Decided::kEnforced ? 1u : 0u);
        if (how == Decided::kEnforced) {
          const Item& item = judge.applied[0];
          ASSERT_EQ(item, Numbered(item.word[0]));
          ASSERT_TRUE(ledger.ruled.emplace(item.word[0], how).second) << "enforced twice";
        }
        break;
      }
      case 6:
        if (!rig.nic().PollOutcome(slot, out, how)) break;
        ASSERT_TRUE(out.word[0] == 500 || out.word[0] == 501);
        ASSERT_TRUE(ledger.told.emplace(out.word[1], how).second) << "told twice";
        ASSERT_EQ(how == Decided::kEnforced, ledger.ruled.contains(out.word[1]));
        break;
      default:
        rig.host().Prefetch(slot);
        break;
    }
    rig.window().Pass(static_cast<uint32_t>(random() % 400));
  }
  ASSERT_LE(ledger.received.size(), ledger.sent.size());
  for (size_t i = 0; i < ledger.received.size(); ++i) {
    ASSERT_EQ(ledger.received[i], ledger.sent[i]);
  }
  EXPECT_GT(ledger.received.size(), 100u);
  EXPECT_GT(ledger.told.size(), 100u);
  EXPECT_GE(ledger.told.size() + 2, committed) << "all but what is open has ended";
  EXPECT_EQ(rig.Faults(), 0u);
}

}  // namespace
}  // namespace sluice::offload
