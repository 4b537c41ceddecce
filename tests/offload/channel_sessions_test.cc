// SPDX-License-Identifier: BSD-3-Clause
//
// Tests both channels' contract after an end restarts without its state (lib/offload/item.h).
#include <gtest/gtest.h>

#include <cstdint>

#include "channel_fixture.h"

namespace sluice::offload {
namespace {

TYPED_TEST(Channel, NothingIsTakenBeforeTheEndsMet) {
  TypeParam rig;
  EXPECT_EQ(rig.host().room(), 0u);
  EXPECT_FALSE(rig.host().Send(Numbered(1)));
  EXPECT_FALSE(rig.nic().CanCommit(0));
  EXPECT_FALSE(rig.Receive(this->out_));
  EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kNone);
  ASSERT_TRUE(rig.Meet());
  EXPECT_EQ(rig.restarts(), 1u);
  EXPECT_EQ(rig.losses(), 0u) << "who has just begun has lost nothing";
  this->ExpectWorks(rig, 1);
}

TYPED_TEST(Channel, ARestartAskedForIsTakenOnce) {
  auto& rig = this->rig_;
  EXPECT_FALSE(rig.PollRestart());
  rig.nic().RequestRestart();
  EXPECT_TRUE(rig.PollRestart());
  EXPECT_FALSE(rig.PollRestart());
  rig.nic().RequestRestart();
  rig.nic().RequestRestart();
  EXPECT_TRUE(rig.PollRestart());
  this->ExpectWorks(rig, 1);
}

TYPED_TEST(Channel, WhatAReplacedAgentLeftIsVoid) {
  auto& rig = this->rig_;
  for (uint64_t round = 0; round < 20; ++round) {
    this->judge_ = {};
    this->ExpectWorks(rig, 1000 * round);
    // The agent dies while one decision is offered, one is recalled, one answers an ask, and there
    // are unread events.
    if (round % 3 == 0) {
      ASSERT_TRUE(rig.host().Ask(2, Numbered(1)));
      ASSERT_TRUE(rig.Receive(this->out_));
      ASSERT_EQ(this->out_, Numbered(1));
    }
    for (Slot slot = 0; slot < 3; ++slot) {
      rig.nic().Commit(slot, Numbered(2 + slot), Urgency::kInterrupt);
    }
    rig.nic().Recall(1);
    for (uint64_t n = 0; n < round % 8; ++n) ASSERT_TRUE(rig.host().Send(Numbered(9)));
    rig.Settle();
    rig.ReplaceNic();
    ASSERT_TRUE(rig.Meet());
    EXPECT_EQ(rig.restarts(), 1u);
    EXPECT_EQ(rig.losses(), 0u);
    for (Slot slot = 0; slot < 3; ++slot) {
      EXPECT_EQ(rig.Decide(slot, this->judge_), Decided::kNone);
      EXPECT_FALSE(rig.PollOutcome(slot, this->out_, this->how_));
      EXPECT_TRUE(rig.nic().CanCommit(slot));
    }
    EXPECT_TRUE(this->judge_.applied.empty());
    EXPECT_FALSE(rig.Receive(this->out_));
    EXPECT_FALSE(rig.nic().PollLoss());
  }
  this->ExpectWorks(rig, 100'000);
  EXPECT_EQ(rig.Faults(), 0u);
}

TYPED_TEST(Channel, AReplacedHostIsALossToTheAgentAndEndsItsDecisions) {
  auto& rig = this->rig_;
  for (uint64_t round = 0; round < 10; ++round) {
    this->judge_ = {};
    this->ExpectWorks(rig, 1000 * round);
    rig.nic().Commit(0, Numbered(2), Urgency::kInterrupt);
    ASSERT_TRUE(rig.host().Send(Numbered(9)));
    rig.Settle();
    rig.ReplaceHost();
    ASSERT_TRUE(rig.Meet());
    EXPECT_EQ(rig.restarts(), 1u) << "the host knows of no agent yet";
    EXPECT_EQ(rig.losses(), 1u);
    EXPECT_TRUE(rig.nic().CanCommit(0));
    EXPECT_FALSE(rig.PollOutcome(0, this->out_, this->how_));
    EXPECT_EQ(rig.Decide(0, this->judge_), Decided::kNone);
    EXPECT_FALSE(rig.Receive(this->out_));
  }
  this->ExpectWorks(rig, 100'000);
  EXPECT_EQ(rig.Faults(), 0u);
}

}  // namespace
}  // namespace sluice::offload
