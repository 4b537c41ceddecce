// SPDX-License-Identifier: BSD-3-Clause
//
// Tests decisions that are made in advance and recalled: Wave's prestaging.
#include <gtest/gtest.h>

#include "agent_bed.h"
#include "engine/sched/agent.h"

namespace sluice::engine::sched {
namespace {

using test::Bed;
using test::FifoBed;
using test::ShinjukuBed;

TEST(AgentPrestage, OneDecisionACpuIsMadeBeforehandAndRefilledWhenItWasUsed) {
  FifoBed bed(FifoCentral(), {.cpus = 1, .prestage = true});
  bed.RunOnEach(0);
  bed.New(2);
  bed.New(3);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 2);
  EXPECT_TRUE(bed.channel.Prestaged(0)) << "the host is not interrupted";
  // The host enforced the prestaged decision when task 1 blocked.
  bed.SendMessage(MessageType::kTaskBlocked, 1, 2);
  bed.channel.Enforce(0);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 2);
  EXPECT_EQ(bed.channel.Decision(0), 3);
  EXPECT_TRUE(bed.channel.Prestaged(0));
  EXPECT_EQ(bed.agent.counters().prestaged, 2u);
  EXPECT_EQ(bed.agent.counters().decisions, 3u);
}

TEST(AgentPrestage, AStaleOneIsFollowedByAnotherForWhoIsStillThere) {
  FifoBed bed(FifoCentral(), {.cpus = 1, .prestage = true});
  bed.RunOnEach(0);
  bed.New(2);
  bed.New(3);
  bed.Step();
  bed.SendMessage(MessageType::kTaskDead, 2, 2);
  bed.SendMessage(MessageType::kTaskBlocked, 1, 2);
  bed.channel.Refuse(0, Status::kTargetStale, 2, 0);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 3);
  EXPECT_TRUE(bed.channel.Interrupts(0)) << "the CPU idles now";
}

TEST(AgentPrestage, ADecisionForATaskThatIsGoneIsCalledBack) {
  FifoBed bed(FifoCentral(), {.cpus = 1, .prestage = true});
  bed.RunOnEach(0);
  bed.New(2);
  bed.Step();
  bed.SendMessage(MessageType::kTaskDead, 2, 2);
  bed.Step();
  EXPECT_TRUE(bed.channel.Recalled(0));
}

TEST(AgentPrestage, AMoreUrgentTaskHasAStagedOneRecalledInTime) {
  ShinjukuBed bed(Shinjuku(), {.cpus = 1, .prestage = true});
  bed.New(1, 1, /*task_class=*/0);
  bed.Step();
  bed.channel.Enforce(0);
  bed.New(2, 1, 5);
  bed.Step();
  ASSERT_EQ(bed.channel.Decision(0), 2);
  bed.New(3, 1, 4);
  bed.Step();
  EXPECT_TRUE(bed.channel.Recalled(0));
  bed.channel.Refuse(0, Status::kAborted, 1);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 3);
  EXPECT_TRUE(bed.channel.Prestaged(0));
  EXPECT_EQ(bed.agent.counters().recalled_in_time, 1u);
  EXPECT_EQ(bed.agent.counters().recalled_too_late, 0u);
  EXPECT_EQ(bed.Refusals(Status::kAborted), 1u);
  // Task 2 follows task 1.
  bed.channel.Enforce(0);
  bed.SendMessage(MessageType::kTaskBlocked, 1, 2);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 3);
  EXPECT_EQ(bed.channel.Decision(0), 2);
}

TEST(AgentPrestage, ARecallThatComesTooLateIsFollowedByAPreemptingDecision) {
  ShinjukuBed bed(Shinjuku(), {.cpus = 1, .prestage = true});
  bed.New(1, 1, 0);
  bed.Step();
  bed.channel.Enforce(0);
  bed.New(2, 1, 5);
  bed.Step();
  bed.New(3, 1, 4);
  bed.Step();
  ASSERT_TRUE(bed.channel.Recalled(0));
  bed.SendMessage(MessageType::kTaskBlocked, 1, 2);
  bed.channel.Enforce(0);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 2);
  EXPECT_EQ(bed.agent.counters().recalled_too_late, 1u);
  EXPECT_EQ(bed.agent.counters().recalled_in_time, 0u);
  EXPECT_EQ(bed.channel.Decision(0), 3);
  EXPECT_TRUE(bed.channel.Interrupts(0));
  EXPECT_EQ(bed.agent.counters().preemptions, 1u);
}

TEST(AgentPrestage, WhoWaitsBehindARunningTaskIsFetchedForACpuThatIdles) {
  FifoBed bed(FifoCentral(), {.cpus = 2, .prestage = true});
  bed.RunOnEach(1);
  bed.New(3);
  bed.Step();
  ASSERT_EQ(bed.channel.Decision(0), 3);
  bed.SendMessage(MessageType::kTaskBlocked, 2, 2, 1);
  bed.Step();
  EXPECT_TRUE(bed.channel.Recalled(0)) << "CPU 1 idles, and nobody else waits";
  bed.channel.Refuse(0, Status::kAborted, 1);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(1), 3);
  EXPECT_TRUE(bed.channel.Interrupts(1));
}

TEST(AgentPrestage, WhoHasACpuOfItsOwnIsNotFetchedForAnother) {
  Bed bed(FifoPerCpu(2), AgentOptions{.cpus = 2, .prestage = true});
  bed.RunOnEach(1);
  bed.New(3);
  bed.Step();
  ASSERT_EQ(bed.channel.Decision(0), 3) << "the third gets the first CPU again";
  bed.SendMessage(MessageType::kTaskBlocked, 2, 2, 1);
  bed.Step();
  EXPECT_FALSE(bed.channel.Recalled(0));
}

TEST(AgentPrestage, WhatACpuMissedAsItWentIdleIsCalledBackAndGivenWithAnInterrupt) {
  FifoBed bed(FifoCentral(), {.cpus = 1, .prestage = true, .nudge = 20'000});
  bed.RunOnEach(0);
  bed.New(2);
  bed.Step();
  ASSERT_TRUE(bed.channel.Prestaged(0));
  bed.SendMessage(MessageType::kTaskBlocked, 1, 2);
  bed.Step();
  bed.Step(10'000);
  EXPECT_FALSE(bed.channel.Recalled(0)) << "the host may be about to take it";
  bed.Step(10'000);
  EXPECT_TRUE(bed.channel.Recalled(0));
  bed.channel.Refuse(0, Status::kAborted, 1);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 2);
  EXPECT_TRUE(bed.channel.Interrupts(0));
}

TEST(AgentPrestage, WhoWaitsInTheSlotItselfGetsTheCpuWhenTheSliceIsOver) {
  ShinjukuBed bed(Shinjuku(30'000), {.cpus = 1, .prestage = true});
  bed.RunOnEach(0);
  bed.New(2);
  bed.Step();
  ASSERT_TRUE(bed.channel.Prestaged(0));
  bed.Step(20'000);
  EXPECT_FALSE(bed.channel.Recalled(0));
  bed.Step(20'000);
  ASSERT_TRUE(bed.channel.Recalled(0));
  bed.channel.Refuse(0, Status::kAborted, 1);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 2);
  EXPECT_TRUE(bed.channel.Interrupts(0));
}

}  // namespace
}  // namespace sluice::engine::sched
