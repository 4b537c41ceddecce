// SPDX-License-Identifier: BSD-3-Clause
//
// Tests both channels' contract for events, and their behavior on a dead link (lib/offload/item.h).
#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "channel_fixture.h"

namespace sluice::offload {
namespace {

// --- Events.

TYPED_TEST(Channel, EventsArriveOnceAndInTheOrderInWhichTheyWereSentAsksAmongThem) {
  TypeParam rig(3, 8);
  ASSERT_TRUE(rig.Meet());
  std::mt19937_64 random(1);
  uint64_t sent = 0, received = 0;
  Item out;
  for (uint32_t step = 0; step < 600; ++step) {
    if (random() % 2 != 0) {
      const Slot slot = random() % 3;
      const Item item = Numbered(sent + 1);
      if (rig.host().room() != 0) {
        const bool ask = random() % 3 == 0;
        ASSERT_TRUE(ask ? rig.host().Ask(slot, item) : rig.host().Send(item));
        ++sent;
      }
      rig.host().Flush();
      // Rules on an agent's decision, so that the slot may ask again.
      TestJudge judge;
      rig.host().Decide(slot, judge);
    } else if (rig.Receive(out)) {
      ASSERT_EQ(out, Numbered(++received));
      const Slot slot = random() % 3;
      if (rig.nic().CanCommit(slot)) rig.nic().Commit(slot, out, Urgency::kInterrupt);
    }
    Decided how;
    for (Slot slot = 0; slot < 3; ++slot) rig.nic().PollOutcome(slot, out, how);
  }
  while (rig.Receive(out)) ASSERT_EQ(out, Numbered(++received));
  EXPECT_EQ(received, sent);
  EXPECT_GT(sent, 100u);
  EXPECT_EQ(rig.Faults(), 0u);
  EXPECT_EQ(rig.host().overflows(), 0u);
}

TYPED_TEST(Channel, EventsThatFindNoRoomAreRefusedCountedAndToldOnce) {
  auto& rig = this->rig_;
  uint64_t sent = 0;
  while (rig.host().Send(Numbered(sent + 1))) ASSERT_LE(++sent, 8u);
  EXPECT_EQ(sent, 8u);
  EXPECT_FALSE(rig.host().Send(Numbered(99)));
  EXPECT_EQ(rig.host().overflows(), 2u);
  rig.host().Flush();
  EXPECT_TRUE(rig.PollLoss());
  EXPECT_FALSE(rig.PollLoss());
  for (uint64_t n = 1; n <= sent; ++n) {
    ASSERT_TRUE(rig.Receive(this->out_));
    EXPECT_EQ(this->out_, Numbered(n));
  }
  EXPECT_FALSE(rig.Receive(this->out_));
  this->ExpectWorks(rig, 100);
}

TYPED_TEST(Channel, ALossIsToldBeforeTheEventsAfterIt) {
  auto& rig = this->rig_;
  while (rig.host().Send(Numbered(1))) {
  }
  while (rig.Receive(this->out_)) {
  }
  rig.Settle();
  ASSERT_TRUE(rig.host().Send(Numbered(2)));  // This event is sent without a Flush.
  ASSERT_TRUE(rig.Receive(this->out_));
  ASSERT_EQ(this->out_, Numbered(2));
  EXPECT_TRUE(rig.nic().PollLoss());
}

TYPED_TEST(Channel, WhatTheHostWithholdsIsALoss) {
  auto& rig = this->rig_;
  rig.host().Lose();
  EXPECT_EQ(rig.host().overflows(), 1u);
  EXPECT_TRUE(rig.PollLoss());
  EXPECT_FALSE(rig.PollLoss());
  this->ExpectWorks(rig, 1);
}

TYPED_TEST(Channel, RoomIsWhatIsCertainlyTaken) {
  auto& rig = this->rig_;
  for (uint32_t round = 0; round < 5; ++round) {
    rig.Settle();
    const uint32_t room = rig.host().room();
    ASSERT_GT(room, 0u);
    for (uint32_t i = 0; i < room; ++i) ASSERT_TRUE(rig.host().Send(Numbered(i)));
    for (uint32_t i = 0; i < room; ++i) ASSERT_TRUE(rig.Receive(this->out_));
  }
  rig.Settle();
  while (rig.host().Send(Numbered(1))) {
  }
  EXPECT_EQ(rig.host().room(), 0u);
}

// --- A dead link.

TYPED_TEST(Channel, LinesOfAllOnesAreNeitherEventsNorDecisionsNorFaults) {
  auto& rig = this->rig_;
  rig.nic().Commit(0, Numbered(7), Urgency::kInterrupt);
  ASSERT_TRUE(rig.host().Send(Numbered(1)));
  rig.Settle();
  bar::Line dead;
  dead.word.fill(~uint64_t{0});
  for (uint32_t line = 0; line < rig.layout().LinesNeeded(); ++line) {
    rig.window().host().Post(line, dead);
    rig.window().nic().Post(line, dead);
  }
  for (uint32_t i = 0; i < 300; ++i) {
    EXPECT_FALSE(rig.Receive(this->out_));
    EXPECT_FALSE(rig.PollLoss());
    EXPECT_FALSE(rig.PollRestart());
    EXPECT_FALSE(rig.host().Look(0, this->out_));
    EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kNone);
    EXPECT_FALSE(rig.PollOutcome(0, this->out_, this->how_));
    rig.host().room();
  }
  EXPECT_TRUE(this->judge_.applied.empty());
  EXPECT_EQ(rig.Faults(), 0u);
}

}  // namespace
}  // namespace sluice::offload
