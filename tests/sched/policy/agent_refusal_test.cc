// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the agent's reaction to decisions that the host refused. The statuses have the same
// meanings as in ghOSt.
#include <gtest/gtest.h>

#include "agent_bed.h"
#include "engine/sched/agent.h"

namespace sluice::engine::sched {
namespace {

using test::FifoBed;

TEST(AgentRefusal, FreshStateOfATaskThatWaitsIsAllThatAnotherTryNeeds) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.New(1, 5);
  bed.New(2, 1);
  bed.Step();
  bed.channel.Refuse(0, Status::kTargetStale, 8);
  bed.Step();
  ASSERT_EQ(bed.channel.Decision(0), 1) << "to the front, and at once";
  EXPECT_EQ(bed.channel.transaction(0)->task_barrier, 8u);
  EXPECT_EQ(bed.Refusals(Status::kTargetStale), 1u);
  // The decision already accounts for the messages in flight.
  bed.SendMessage(MessageType::kTaskBlocked, 1, 6);
  bed.SendMessage(MessageType::kTaskWakeup, 1, 7);
  bed.SendMessage(MessageType::kTaskAffinityChanged, 1, 8, 0, 0, 0, 3);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 1) << "the decision stands";
  bed.channel.Enforce(0);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 1);
  EXPECT_EQ(bed.agent.running(0).task->affinity, 3u) << "the news about its nature is taken";
}

TEST(AgentRefusal, MessagesOlderThanWhatARefusalToldMoveNobody) {
  FifoBed bed(FifoCentral(), {.cpus = 2});
  bed.New(1, 5);
  bed.Step();
  bed.channel.Refuse(0, Status::kTargetStale, 8);
  bed.Step();
  ASSERT_EQ(bed.channel.Decision(0), 1);
  bed.SendMessage(MessageType::kTaskBlocked, 1, 6);
  bed.SendMessage(MessageType::kTaskWakeup, 1, 7);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(1)) << "it is decided for already";
}

TEST(AgentRefusal, AStaleTaskThatIsElsewhereWaitsForTheMessageThatMadeItStale) {
  for (const uint32_t flags :
       {uint32_t{kStatusInUse}, kStatusInUse | kStatusRunnable | kStatusOnCpu,
        kStatusInUse | kStatusRunnable | kStatusLatched}) {
    FifoBed bed(FifoCentral(), {.cpus = 1});
    bed.New(1, 5);
    bed.New(2, 1);
    bed.Step();
    bed.channel.Refuse(0, Status::kTargetStale, 6, flags);
    bed.Step();
    EXPECT_EQ(bed.channel.Decision(0), 2) << "the CPU goes to another meanwhile";
    bed.SendMessage(MessageType::kTaskBlocked, 1, 6);
    bed.Step();
    bed.SendMessage(MessageType::kTaskWakeup, 1, 7);
    bed.SendMessage(MessageType::kTaskBlocked, 2, 2);
    bed.Step();
    bed.channel.Enforce(0);
    bed.Step();
    EXPECT_EQ(bed.channel.Decision(0), 1);
    EXPECT_EQ(bed.channel.transaction(0)->task_barrier, 7u);
  }
}

TEST(AgentRefusal, WhatTheHostDoesNotPermitIsTriedAgainWhenThatTasksNatureIsHeardOf) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.New(1, 5);
  bed.Step();
  bed.channel.Refuse(0, Status::kTargetStale, 6);  // The affinity changed.
  bed.Step();
  bed.channel.Refuse(0, Status::kNotPermitted, 6);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(0)) << "trying once more would not help";
  bed.SendMessage(MessageType::kTaskAffinityChanged, 1, 6, 0, 0, 0, 1);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 1);
}

TEST(AgentRefusal, AMessageThatCameBeforeTheRefusalExplainsIt) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.New(1, 5);
  bed.Step();
  bed.SendMessage(MessageType::kTaskAffinityChanged, 1, 6);
  bed.Step();
  bed.channel.Refuse(0, Status::kTargetStale, 6);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 1);
  EXPECT_EQ(bed.channel.transaction(0)->task_barrier, 6u);
}

TEST(AgentRefusal, ATaskThatTheHostDoesNotKnowIsForgotten) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.New(1);
  bed.Step();
  bed.channel.Refuse(0, Status::kTargetNotFound, 0, 0);
  bed.Step();
  EXPECT_EQ(bed.agent.tasks(), 0u);
}

TEST(AgentRefusal, ADeadTaskIsNotQueuedByTheRefusalThatItsDeathCaused) {
  for (const bool message_first : {false, true}) {
    FifoBed bed(FifoCentral(), {.cpus = 1});
    bed.New(1);
    bed.Step();
    if (message_first) {
      bed.SendMessage(MessageType::kTaskDead, 1, 2);
      bed.Step();
    }
    bed.channel.Refuse(0, Status::kTargetStale, 2, 0);
    bed.Step();
    if (!message_first) {
      bed.SendMessage(MessageType::kTaskDead, 1, 2);
      bed.Step();
    }
    EXPECT_FALSE(bed.channel.transaction(0));
    EXPECT_EQ(bed.agent.tasks(), 0u);
    EXPECT_EQ(bed.agent.counters().unknown_tasks, 0u);
  }
}

TEST(AgentRefusal, ACpuThatTakesNobodyRestsAndItsTaskGoesElsewhere) {
  FifoBed bed(FifoCentral(), {.cpus = 2, .retry = 1'000'000});
  bed.New(1);
  bed.Step();
  bed.channel.Refuse(0, Status::kCpuOffline, 1);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(0));
  EXPECT_EQ(bed.channel.Decision(1), 1);
  bed.New(2);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(0));
  bed.Step(1'000'000);
  EXPECT_EQ(bed.channel.Decision(0), 2) << "it is asked again in the end";
  bed.channel.Refuse(0, Status::kCpuOffline, 1);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(0));
  bed.SendMessage(MessageType::kCpuAvailable, 0, 1, 0);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 2) << "and when the host says that it is back";
}

TEST(AgentRefusal, AHostThatHadGivenTheAgentUpIsAskedForEverythingOnce) {
  FifoBed bed(FifoCentral(), {.cpus = 2});
  bed.New(1);
  bed.New(2);
  bed.Step();
  bed.channel.Refuse(0, Status::kNoAgent, 1);
  bed.channel.Refuse(1, Status::kNoAgent, 1);
  bed.Step();
  EXPECT_EQ(bed.channel.restarts, 2) << "the one of the beginning, and one more";
  EXPECT_EQ(bed.agent.tasks(), 0u);
  EXPECT_EQ(bed.agent.counters().losses, 1u);
  bed.New(1, 9);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 1);
}

TEST(AgentRefusal, BarriersOnEitherSideOfZeroAreComparedAsSerialNumbers) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.New(1, 0xffff'ffff);
  bed.Step();
  bed.channel.Refuse(0, Status::kTargetStale, 1);
  bed.Step();
  ASSERT_EQ(bed.channel.Decision(0), 1);
  EXPECT_EQ(bed.channel.transaction(0)->task_barrier, 1u);
  bed.SendMessage(MessageType::kTaskBlocked, 1, 0);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 1);
  bed.channel.Enforce(0);
  bed.SendMessage(MessageType::kTaskBlocked, 1, 2);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), kNoTask);
}

}  // namespace
}  // namespace sluice::engine::sched
