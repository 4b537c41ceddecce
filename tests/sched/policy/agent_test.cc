// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the agent's reaction to each message, and to messages and outcomes in every possible order.
// The rules are those of ghOSt (the meaning of a barrier) and Wave (prestaging).
#include "engine/sched/agent.h"

#include <gtest/gtest.h>

#include <array>

#include "agent_bed.h"

namespace sluice::engine::sched {
namespace {

using test::Bed;
using test::FifoBed;
using test::ShinjukuBed;

// --- Idle CPUs ------------------------------------------------------------------------------

TEST(Agent, AsksForEveryTaskWhenItStarts) {
  FifoBed bed(FifoCentral(), {});
  EXPECT_EQ(bed.channel.restarts, 1);
  EXPECT_EQ(bed.agent.Step(1), 0u) << "and has nothing to do";
}

TEST(Agent, CommitsARunnableTaskToAnIdleCpuWithWhatItSawOfIt) {
  FifoBed bed(FifoCentral(), {.cpus = 2});
  bed.New(7, 41);
  bed.Step();
  const auto& transaction = bed.channel.transaction(0);
  ASSERT_TRUE(transaction);
  EXPECT_EQ(transaction->version, kAbiVersion);
  EXPECT_EQ(transaction->gtid, 7);
  EXPECT_EQ(transaction->cpu, 0);
  EXPECT_EQ(transaction->task_barrier, 41u);
  EXPECT_EQ(transaction->commit_flags, 0);
  EXPECT_TRUE(bed.channel.Interrupts(0)) << "the CPU idles, and has to be woken";
  EXPECT_FALSE(bed.channel.transaction(1));
  bed.channel.Enforce(0);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 7);
  EXPECT_EQ(bed.agent.counters().enforced, 1u);
}

TEST(Agent, CountsMessagesOutcomesAndDecisionsOfAStep) {
  FifoBed bed(FifoCentral(), {.cpus = 2});
  bed.New(1);
  bed.New(2);
  EXPECT_EQ(bed.agent.Step(1), 4u) << "two messages, two decisions";
  bed.channel.Enforce(0);
  EXPECT_EQ(bed.agent.Step(2), 1u);
  EXPECT_EQ(bed.agent.Step(3), 0u);
}

TEST(Agent, HearsNoMoreThanItsBudgetInAStep) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  for (Gtid gtid = 1; gtid <= 10; ++gtid) bed.New(gtid);
  bed.agent.Step(1, 4);
  EXPECT_EQ(bed.agent.counters().messages, 4u);
  EXPECT_EQ(bed.agent.tasks(), 4u);
}

TEST(Agent, ATaskThatIsNotRunnableIsNotCommittedUntilItIsWoken) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.SendMessage(MessageType::kTaskNew, 1, 1);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(0));
  bed.SendMessage(MessageType::kTaskWakeup, 1, 2);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 1);
}

TEST(Agent, ATaskThatBlocksMakesRoomForTheNext) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.RunOnEach(0);
  bed.New(2);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(0)) << "nothing beforehand without prestaging";
  bed.SendMessage(MessageType::kTaskBlocked, 1, 2);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 2);
}

TEST(Agent, ATaskThatYieldsGoesBehindTheOthersAndAPreemptedOneToo) {
  for (const MessageType type : {MessageType::kTaskYield, MessageType::kTaskPreempt}) {
    FifoBed bed(FifoCentral(), {.cpus = 1});
    bed.RunOnEach(0);
    bed.New(2);
    bed.SendMessage(type, 1, 2);
    bed.Step();
    EXPECT_EQ(bed.channel.Decision(0), 2);
  }
}

TEST(Agent, ATaskThatTheHostPreemptedForItselfOrThatNeverGotOnTheCpuGetsTheNextPlace) {
  for (const uint8_t flag : {kBoostPriority, kWasLatched}) {
    FifoBed bed(FifoCentral(), {.cpus = 1});
    bed.RunOnEach(0);
    bed.New(2);
    bed.SendMessage(MessageType::kTaskPreempt, 1, 2, 0, flag);
    bed.Step();
    EXPECT_EQ(bed.channel.Decision(0), 1);
  }
}

TEST(Agent, LeavesABusyCpuAlone) {
  FifoBed bed(FifoCentral(), {.cpus = 2});
  bed.SendMessage(MessageType::kCpuBusy, 0, 1, 0);
  bed.New(1);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(0));
  EXPECT_EQ(bed.channel.Decision(1), 1);
  bed.New(2);
  bed.SendMessage(MessageType::kCpuAvailable, 0, 2, 0);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 2);
}

// --- Orders of messages and outcomes --------------------------------------------------------

TEST(AgentOrder, AMessageMayOvertakeTheOutcomeOfTheDecisionThatItFollowsFrom) {
  // The task started and blocked, but the second message arrives first.
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.New(1);
  bed.Step();
  bed.SendMessage(MessageType::kTaskBlocked, 1, 2);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), kNoTask);
  bed.channel.Enforce(0);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), kNoTask) << "what came later holds";
  bed.SendMessage(MessageType::kTaskWakeup, 1, 3);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 1);
  EXPECT_EQ(bed.channel.transaction(0)->task_barrier, 3u);
}

TEST(AgentOrder, ThatATasksNatureChangedDoesNotTellWhetherTheDecisionHeld) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.New(1);
  bed.Step();
  bed.SendMessage(MessageType::kTaskAffinityChanged, 1, 2);
  bed.Step();
  bed.channel.Enforce(0);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 1) << "it was enforced before the change";
}

TEST(AgentOrder, APreemptedTaskAndItsSuccessorChangePlacesInWhateverOrderThatIsHeard) {
  enum Event { kOutcome, kPreempt, kOnCpu };
  for (const auto& order : {std::array{kOutcome, kPreempt, kOnCpu},
                            {kPreempt, kOutcome, kOnCpu},
                            {kPreempt, kOnCpu, kOutcome}}) {
    ShinjukuBed bed(Shinjuku(1'000), {.cpus = 1});
    bed.RunOnEach(0);
    bed.New(2);
    bed.Step(2'000);
    ASSERT_EQ(bed.channel.Decision(0), 2);
    EXPECT_TRUE(bed.channel.Interrupts(0));
    EXPECT_EQ(bed.agent.counters().preemptions, 1u);
    for (const Event event : order) {
      if (event == kOutcome) bed.channel.Enforce(0);
      if (event == kPreempt) bed.SendMessage(MessageType::kTaskPreempt, 1, 2);
      if (event == kOnCpu) bed.SendMessage(MessageType::kTaskOnCpu, 2, 1);
      bed.Step();
    }
    EXPECT_EQ(bed.Runs(0), 2);
    EXPECT_EQ(bed.agent.tasks(), 2u);
    bed.Step(2'000);
    EXPECT_EQ(bed.channel.Decision(0), 1) << "who was preempted is not lost";
  }
}

TEST(AgentOrder, NobodyIsDecidedForACpuThatIsAboutToSwitch) {
  ShinjukuBed bed(Shinjuku(1'000), {.cpus = 1, .prestage = true});
  bed.RunOnEach(0);
  bed.New(2);
  bed.New(3);
  bed.Step();
  ASSERT_TRUE(bed.channel.Prestaged(0));
  bed.Step(2'000);
  ASSERT_TRUE(bed.channel.Recalled(0));
  bed.channel.Refuse(0, Status::kAborted, 1);
  bed.Step();
  ASSERT_EQ(bed.channel.Decision(0), 2);
  ASSERT_TRUE(bed.channel.Interrupts(0));
  bed.channel.Enforce(0);
  bed.Step(5'000);
  EXPECT_FALSE(bed.channel.transaction(0)) << "2 is latched, and 1 is still there";
  bed.SendMessage(MessageType::kTaskPreempt, 1, 2);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 2);
  EXPECT_EQ(bed.channel.Decision(0), 3);
  EXPECT_TRUE(bed.channel.Prestaged(0));
}

TEST(AgentOrder, ALatchedTaskThatIsPushedAsideIsNextAgain) {
  ShinjukuBed bed(Shinjuku(1'000), {.cpus = 1});
  bed.RunOnEach(0);
  bed.New(2);
  bed.Step(2'000);
  bed.channel.Enforce(0);
  bed.Step();
  bed.New(3);
  bed.SendMessage(MessageType::kTaskPreempt, 2, 2, 0, kWasLatched);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 1) << "who was to go stays";
  EXPECT_EQ(bed.channel.Decision(0), 2);
}

// --- A CPU is vacated without a successor -----------------------------------------------------

TEST(Agent, ACoreThatIsToChangeItsMachineIsEmptiedFirst) {
  constexpr Nanoseconds kQuantum = 1'000'000;
  Bed bed(FairShare(2, kQuantum), AgentOptions{.cpus = 2});
  for (const Gtid gtid : {1, 2}) {
    bed.channel.SendMessage({.type = MessageType::kTaskNew,
                             .seqnum = 1,
                             .gtid = gtid,
                             .flags = kRunnable,
                             .group = 1,
                             .affinity = 3});
  }
  bed.Step();
  bed.channel.Enforce(0);
  bed.channel.Enforce(1);
  bed.Step();
  bed.channel.SendMessage({.type = MessageType::kTaskNew,
                           .seqnum = 1,
                           .gtid = 3,
                           .flags = kRunnable,
                           .group = 2,
                           .affinity = 3});
  bed.Step(2 * kQuantum);
  // The new group starts with the smallest runtime, which is group 1's. It runs as soon as group 1
  // exceeds this runtime.
  bed.Step(1);
  for (const CpuId cpu : {0, 1}) {
    ASSERT_TRUE(bed.channel.transaction(cpu));
    EXPECT_EQ(bed.channel.Decision(cpu), kNoTask);
    EXPECT_TRUE(bed.channel.Interrupts(cpu));
  }
  bed.channel.Enforce(0);
  bed.channel.Enforce(1);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(0)) << "told once";
  bed.SendMessage(MessageType::kTaskPreempt, 1, 2, 0);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(0)) << "the sibling is still there";
  bed.SendMessage(MessageType::kTaskPreempt, 2, 2, 1);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 3);
  EXPECT_FALSE(bed.channel.transaction(1)) << "nobody else of its machine";
}

}  // namespace
}  // namespace sluice::engine::sched
