// SPDX-License-Identifier: BSD-3-Clause
//
// Fixture of the tests that apply to every channel, over shared memory and over every kind of
// window in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "rig.h"

namespace sluice::offload {

template <typename R>
class Channel : public testing::Test {
 protected:
  void SetUp() override {
    static_assert(HostChannel<typename R::Host> && NicChannel<typename R::Nic>);
    ASSERT_TRUE(rig_.Meet());
  }
  /// Checks that the host and the agent of `rig` work: sends an event, a decision and its outcome.
  static void ExpectWorks(R& rig, uint64_t number) {
    TestJudge judge;
    Item out;
    Decided how = Decided::kNone;
    ASSERT_TRUE(rig.host().Send(Numbered(number)));
    ASSERT_TRUE(rig.Receive(out));
    EXPECT_EQ(out, Numbered(number));
    ASSERT_TRUE(rig.nic().CanCommit(1));
    rig.nic().Commit(1, Numbered(number + 1), Urgency::kInterrupt);
    ASSERT_EQ(rig.Decide(1, judge), Decided::kEnforced);
    EXPECT_EQ(judge.applied, std::vector{Numbered(number + 1)});
    ASSERT_TRUE(rig.PollOutcome(1, out, how));
    EXPECT_EQ(how, Decided::kEnforced);
    EXPECT_EQ(out.word[1], Numbered(number + 1).word[0]);
  }
  /// Sends an ask for `slot` and receives it in the agent.
  void Ask(Slot slot, uint64_t number) {
    Item out;
    ASSERT_TRUE(rig_.host().Ask(slot, Numbered(number)));
    ASSERT_TRUE(rig_.Receive(out));
    ASSERT_EQ(out, Numbered(number));
  }

  R rig_;
  TestJudge judge_;
  Item out_;
  Decided how_ = Decided::kNone;
};

using Rigs = testing::Types<
    Rig<WaveChannel, SharedMemory>, Rig<WaveChannel, Pushed>, Rig<WaveChannel, PushedCombining>,
    Rig<WaveChannel, Uncached>, Rig<WaveChannel, WriteThrough>, Rig<SwapChannel, SharedMemory>,
    Rig<SwapChannel, Pushed>, Rig<SwapChannel, PushedCombining>, Rig<SwapChannel, Uncached>,
    Rig<SwapChannel, WriteThrough>, Rig<OfferChannel, SharedMemory>, Rig<OfferChannel, Pushed>,
    Rig<OfferChannel, WriteThrough>>;
TYPED_TEST_SUITE(Channel, Rigs);

}  // namespace sluice::offload
