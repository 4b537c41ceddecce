// SPDX-License-Identifier: BSD-3-Clause
//
// What an agent does about each message and outcome, in every order in which they may come. The
// rules are ghOSt's (what a barrier and each status mean) and Wave's (prestaging).
#include "engine/sched/agent.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/sched/policies/all.h"
#include "scripted_channel.h"

namespace sluice::engine::sched {
namespace {

using test::ScriptedChannel;

template <typename P>
class Bed {
 public:
  explicit Bed(P policy, AgentOptions options) : agent(std::move(policy), channel, options) {}

  void Tell(MessageType type, Gtid gtid, uint32_t seqnum, CpuId cpu = 0, uint8_t flags = 0,
            uint8_t task_class = 0, CpuMask affinity = ~CpuMask{0}) {
    channel.Tell({.type = type, .cpu = cpu, .seqnum = seqnum, .gtid = gtid, .flags = flags,
                  .task_class = task_class, .affinity = affinity});
  }
  void New(Gtid gtid, uint32_t seqnum = 1, uint8_t task_class = 0) {
    Tell(MessageType::kTaskNew, gtid, seqnum, 0, kRunnable, task_class);
  }
  void Step(Nanoseconds passed = 100) {
    now += passed;
    agent.Step(now);
    ASSERT_EQ(agent.Violation(), nullptr);
  }
  /// A task runs on each CPU 0 … last: task 1 on CPU 0, and so on.
  void RunOnEach(CpuId last) {
    for (CpuId cpu = 0; cpu <= last; ++cpu) New(cpu + 1);
    Step();
    for (CpuId cpu = 0; cpu <= last; ++cpu) channel.Enforce(cpu);
    Step();
    for (CpuId cpu = 0; cpu <= last; ++cpu) ASSERT_EQ(Runs(cpu), cpu + 1);
  }
  Gtid Runs(CpuId cpu) const {
    const AgentTask* const task = agent.running(cpu).task;
    return task == nullptr ? kNoTask : task->gtid;
  }
  uint64_t Refusals(Status status) const {
    return agent.counters().refused[static_cast<uint32_t>(status) -
                                    static_cast<uint32_t>(Status::kComplete)];
  }

  Nanoseconds now = 0;
  ScriptedChannel channel;
  Agent<P, ScriptedChannel> agent;
};

using FifoBed = Bed<FifoCentral>;
using ShinjukuBed = Bed<Shinjuku>;

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
  bed.Tell(MessageType::kTaskNew, 1, 1);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(0));
  bed.Tell(MessageType::kTaskWakeup, 1, 2);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 1);
}

TEST(Agent, ATaskThatBlocksMakesRoomForTheNext) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.RunOnEach(0);
  bed.New(2);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(0)) << "nothing beforehand without prestaging";
  bed.Tell(MessageType::kTaskBlocked, 1, 2);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 2);
}

TEST(Agent, ATaskThatYieldsGoesBehindTheOthersAndAPreemptedOneToo) {
  for (const MessageType type : {MessageType::kTaskYield, MessageType::kTaskPreempt}) {
    FifoBed bed(FifoCentral(), {.cpus = 1});
    bed.RunOnEach(0);
    bed.New(2);
    bed.Tell(type, 1, 2);
    bed.Step();
    EXPECT_EQ(bed.channel.Decision(0), 2);
  }
}

TEST(Agent, ATaskThatTheHostPreemptedForItselfOrThatNeverGotOnTheCpuGetsTheNextPlace) {
  for (const uint8_t flag : {kBoostPriority, kWasLatched}) {
    FifoBed bed(FifoCentral(), {.cpus = 1});
    bed.RunOnEach(0);
    bed.New(2);
    bed.Tell(MessageType::kTaskPreempt, 1, 2, 0, flag);
    bed.Step();
    EXPECT_EQ(bed.channel.Decision(0), 1);
  }
}

TEST(Agent, LeavesABusyCpuAlone) {
  FifoBed bed(FifoCentral(), {.cpus = 2});
  bed.Tell(MessageType::kCpuBusy, 0, 1, 0);
  bed.New(1);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(0));
  EXPECT_EQ(bed.channel.Decision(1), 1);
  bed.New(2);
  bed.Tell(MessageType::kCpuAvailable, 0, 2, 0);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 2);
}

// --- Orders of messages and outcomes --------------------------------------------------------

TEST(AgentOrder, AMessageMayOvertakeTheOutcomeOfTheDecisionThatItFollowsFrom) {
  // The task got on the CPU and blocked, and this came first.
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.New(1);
  bed.Step();
  bed.Tell(MessageType::kTaskBlocked, 1, 2);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), kNoTask);
  bed.channel.Enforce(0);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), kNoTask) << "what came later holds";
  bed.Tell(MessageType::kTaskWakeup, 1, 3);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 1);
  EXPECT_EQ(bed.channel.transaction(0)->task_barrier, 3u);
}

TEST(AgentOrder, ThatATasksNatureChangedDoesNotTellWhetherTheDecisionHeld) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.New(1);
  bed.Step();
  bed.Tell(MessageType::kTaskAffinityChanged, 1, 2);
  bed.Step();
  bed.channel.Enforce(0);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 1) << "it was enforced before the change";
}

TEST(AgentOrder, APreemptedTaskAndItsSuccessorChangePlacesInWhateverOrderThatIsHeard) {
  enum Event { kOutcome, kPreempt, kOnCpu };
  for (const auto& order : {std::array{kOutcome, kPreempt, kOnCpu}, {kPreempt, kOutcome, kOnCpu},
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
      if (event == kPreempt) bed.Tell(MessageType::kTaskPreempt, 1, 2);
      if (event == kOnCpu) bed.Tell(MessageType::kTaskOnCpu, 2, 1);
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
  bed.Tell(MessageType::kTaskPreempt, 1, 2);
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
  bed.Tell(MessageType::kTaskPreempt, 2, 2, 0, kWasLatched);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 1) << "who was to go stays";
  EXPECT_EQ(bed.channel.Decision(0), 2);
}

// --- Refusals -------------------------------------------------------------------------------

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
  // What is on its way was known before.
  bed.Tell(MessageType::kTaskBlocked, 1, 6);
  bed.Tell(MessageType::kTaskWakeup, 1, 7);
  bed.Tell(MessageType::kTaskAffinityChanged, 1, 8, 0, 0, 0, 3);
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
  bed.Tell(MessageType::kTaskBlocked, 1, 6);
  bed.Tell(MessageType::kTaskWakeup, 1, 7);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(1)) << "it is decided for already";
}

TEST(AgentRefusal, AStaleTaskThatIsElsewhereWaitsForTheMessageThatMadeItStale) {
  for (const uint32_t flags : {uint32_t{kStatusInUse},
                               kStatusInUse | kStatusRunnable | kStatusOnCpu,
                               kStatusInUse | kStatusRunnable | kStatusLatched}) {
    FifoBed bed(FifoCentral(), {.cpus = 1});
    bed.New(1, 5);
    bed.New(2, 1);
    bed.Step();
    bed.channel.Refuse(0, Status::kTargetStale, 6, flags);
    bed.Step();
    EXPECT_EQ(bed.channel.Decision(0), 2) << "the CPU goes to another meanwhile";
    bed.Tell(MessageType::kTaskBlocked, 1, 6);
    bed.Step();
    bed.Tell(MessageType::kTaskWakeup, 1, 7);
    bed.Tell(MessageType::kTaskBlocked, 2, 2);
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
  bed.Tell(MessageType::kTaskAffinityChanged, 1, 6, 0, 0, 0, 1);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 1);
}

TEST(AgentRefusal, AMessageThatCameBeforeTheRefusalExplainsIt) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.New(1, 5);
  bed.Step();
  bed.Tell(MessageType::kTaskAffinityChanged, 1, 6);
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
      bed.Tell(MessageType::kTaskDead, 1, 2);
      bed.Step();
    }
    bed.channel.Refuse(0, Status::kTargetStale, 2, 0);
    bed.Step();
    if (!message_first) {
      bed.Tell(MessageType::kTaskDead, 1, 2);
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
  bed.Tell(MessageType::kCpuAvailable, 0, 1, 0);
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
  bed.Tell(MessageType::kTaskBlocked, 1, 0);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 1);
  bed.channel.Enforce(0);
  bed.Tell(MessageType::kTaskBlocked, 1, 2);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), kNoTask);
}

// --- Prestaging -----------------------------------------------------------------------------

TEST(AgentPrestage, OneDecisionACpuIsMadeBeforehandAndRefilledWhenItWasUsed) {
  FifoBed bed(FifoCentral(), {.cpus = 1, .prestage = true});
  bed.RunOnEach(0);
  bed.New(2);
  bed.New(3);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 2);
  EXPECT_TRUE(bed.channel.Prestaged(0)) << "the host is not interrupted";
  // The host used it when 1 blocked.
  bed.Tell(MessageType::kTaskBlocked, 1, 2);
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
  bed.Tell(MessageType::kTaskDead, 2, 2);
  bed.Tell(MessageType::kTaskBlocked, 1, 2);
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
  bed.Tell(MessageType::kTaskDead, 2, 2);
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
  // 2 comes after it.
  bed.channel.Enforce(0);
  bed.Tell(MessageType::kTaskBlocked, 1, 2);
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
  bed.Tell(MessageType::kTaskBlocked, 1, 2);
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
  bed.Tell(MessageType::kTaskBlocked, 2, 2, 1);
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
  bed.Tell(MessageType::kTaskBlocked, 2, 2, 1);
  bed.Step();
  EXPECT_FALSE(bed.channel.Recalled(0));
}

TEST(AgentPrestage, WhatACpuMissedAsItWentIdleIsCalledBackAndGivenWithAnInterrupt) {
  FifoBed bed(FifoCentral(), {.cpus = 1, .prestage = true, .nudge = 20'000});
  bed.RunOnEach(0);
  bed.New(2);
  bed.Step();
  ASSERT_TRUE(bed.channel.Prestaged(0));
  bed.Tell(MessageType::kTaskBlocked, 1, 2);
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

// --- A CPU is taken from somebody for nobody ------------------------------------------------

TEST(Agent, ACoreThatIsToChangeItsMachineIsEmptiedFirst) {
  constexpr Nanoseconds kQuantum = 1'000'000;
  Bed bed(FairShare(2, kQuantum), AgentOptions{.cpus = 2});
  for (const Gtid gtid : {1, 2}) {
    bed.channel.Tell({.type = MessageType::kTaskNew, .seqnum = 1, .gtid = gtid, .flags = kRunnable,
                      .group = 1, .affinity = 3});
  }
  bed.Step();
  bed.channel.Enforce(0);
  bed.channel.Enforce(1);
  bed.Step();
  bed.channel.Tell({.type = MessageType::kTaskNew, .seqnum = 1, .gtid = 3, .flags = kRunnable,
                    .group = 2, .affinity = 3});
  bed.Step(2 * kQuantum);
  // The newcomer starts with what the poorest had, which is group 1's; it gets its turn when that
  // has had more.
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
  bed.Tell(MessageType::kTaskPreempt, 1, 2, 0);
  bed.Step();
  EXPECT_FALSE(bed.channel.transaction(0)) << "the sibling is still there";
  bed.Tell(MessageType::kTaskPreempt, 2, 2, 1);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 3);
  EXPECT_FALSE(bed.channel.transaction(1)) << "nobody else of its machine";
}

// --- Losses and discovery -------------------------------------------------------------------

TEST(AgentLoss, ForgetsEverythingAndLearnsItAnew) {
  FifoBed bed(FifoCentral(), {.cpus = 3, .prestage = true});
  bed.RunOnEach(1);
  bed.New(3);
  bed.New(4);
  bed.New(5);
  bed.Step();
  bed.channel.loss = true;
  bed.Step();
  EXPECT_EQ(bed.agent.tasks(), 0u);
  EXPECT_EQ(bed.channel.restarts, 2);
  EXPECT_EQ(bed.agent.counters().losses, 1u);
  EXPECT_EQ(bed.Runs(0), kNoTask);
  // What the decisions under way came to is the host's to tell: the one for CPU 2 holds.
  ASSERT_EQ(bed.channel.Decision(2), 3);
  bed.channel.Enforce(2);
  bed.Step();
  // Discovery: 1 runs, 2 is blocked, 3 got on, 4 and 5 wait.
  bed.Tell(MessageType::kTaskNew, 1, 1, 0, kRunnable);
  bed.Tell(MessageType::kTaskOnCpu, 1, 1, 0);
  bed.Tell(MessageType::kTaskNew, 2, 2, 1);
  bed.Tell(MessageType::kTaskNew, 3, 1, 2, kRunnable);
  bed.Tell(MessageType::kTaskOnCpu, 3, 1, 2);
  bed.New(4);
  bed.New(5);
  bed.Step();
  EXPECT_EQ(bed.agent.tasks(), 5u);
  EXPECT_EQ(bed.Runs(0), 1);
  EXPECT_EQ(bed.Runs(1), kNoTask);
  EXPECT_EQ(bed.Runs(2), 3);
}

TEST(AgentLoss, WhatIsStillHeardOfTheTimeBeforeADiscoveryDoesNotMixWithIt) {
  FifoBed bed(FifoCentral(), {.cpus = 2});
  bed.channel.loss = true;
  bed.New(1);
  bed.Tell(MessageType::kTaskOnCpu, 1, 1, 0);
  // That 1 ended is what was lost.
  bed.Tell(MessageType::kDiscovery, 0, 0);
  bed.New(2);
  bed.Step();
  EXPECT_EQ(bed.agent.tasks(), 1u);
  EXPECT_EQ(bed.Runs(0), kNoTask);
  EXPECT_EQ(bed.channel.Decision(0), 2);
  EXPECT_EQ(bed.agent.counters().unknown_tasks, 0u);
}

TEST(AgentLoss, ADecisionFromBeforeItThatHoldsAfterwardsIsBelieved) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.New(1, 5);
  bed.Step();
  bed.channel.loss = true;
  bed.Step();
  bed.New(1, 5);
  bed.Step();
  bed.channel.Enforce(0);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 1);
}

TEST(AgentLoss, AHostThatLostItsMemoryOwesNoOutcomes) {
  FifoBed bed(FifoCentral(), {.cpus = 2});
  bed.New(1);
  bed.New(2);
  bed.Step();
  bed.channel.Forget();
  bed.Step();
  bed.New(11);
  bed.New(12);
  bed.Step();
  EXPECT_EQ(bed.channel.Decision(0), 11);
  EXPECT_EQ(bed.channel.Decision(1), 12);
}

TEST(AgentLoss, WhoIsLatchedOnlyYetIsNotTakenForWhoRuns) {
  FifoBed bed(FifoCentral(), {.cpus = 1});
  bed.New(1);
  bed.Tell(MessageType::kTaskOnCpu, 1, 1, 0);
  bed.New(2);
  bed.Tell(MessageType::kTaskOnCpu, 2, 1, 0, kWasLatched);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 1);
  bed.Tell(MessageType::kTaskPreempt, 1, 2, 0);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 2);
}

// --- Hostile input --------------------------------------------------------------------------

TEST(AgentHostile, WhatMakesNoSenseIsCountedAndChangesNothing) {
  FifoBed bed(FifoCentral(), {.cpus = 2, .max_tasks = 1});
  bed.RunOnEach(0);
  uint64_t expected = 0;
  const auto nonsense = [&](const Message& message) {
    bed.channel.Tell(message);
    bed.Step();
    EXPECT_EQ(bed.agent.counters().unknown_tasks, ++expected);
    EXPECT_EQ(bed.agent.tasks(), 1u);
    EXPECT_EQ(bed.Runs(0), 1);
  };
  for (const uint16_t type : {1, 63, 76, 127, 135, 0xffff}) {
    nonsense({.type = static_cast<MessageType>(type), .seqnum = 9, .gtid = 1});
  }
  for (const Gtid gtid : {kNoTask, kAgentTask, kIdleTask, INT64_MIN}) {
    nonsense({.type = MessageType::kTaskNew, .seqnum = 9, .gtid = gtid, .flags = kRunnable});
  }
  nonsense({.type = MessageType::kTaskWakeup, .seqnum = 9, .gtid = 99});
  nonsense({.type = MessageType::kTaskNew, .seqnum = 9, .gtid = 2, .flags = kRunnable});
  nonsense({.type = MessageType::kCpuBusy, .cpu = 2});
  nonsense({.type = MessageType::kCpuAvailable, .cpu = 0xffff});
  bed.Tell(MessageType::kNop, 0, 0);
  bed.Tell(MessageType::kCpuTick, 0, 0, 1);
  bed.Step();
  EXPECT_EQ(bed.agent.counters().unknown_tasks, expected) << "these make sense";
}

TEST(AgentHostile, AnOutcomeOfNoStatusIsCountedAndTheTaskTriedAgain) {
  FifoBed bed(FifoCentral(), {.cpus = 2});
  bed.New(1);
  bed.Step();
  bed.channel.Refuse(0, static_cast<Status>(-1), 1);
  bed.Step();
  EXPECT_EQ(bed.agent.counters().unknown_tasks, 1u);
  EXPECT_EQ(bed.channel.Decision(1), 1);
}

class AgentOfEveryPolicy : public testing::TestWithParam<std::string_view> {};

// Half of the words are likely, so that much of it means something.
TEST_P(AgentOfEveryPolicy, SurvivesAnyMessagesAndOutcomes) {
  constexpr CpuId kCpus = 5;
  ASSERT_TRUE(VisitPolicy(GetParam(), {.cpus = kCpus}, [](auto policy) {
    Bed bed(std::move(policy), AgentOptions{.cpus = kCpus, .max_tasks = 30, .prestage = true});
    std::mt19937_64 random(7);
    const auto word = [&] { return random() % 16 == 0 ? random() : random() % 40; };
    for (int step = 0; step < 100'000; ++step) {
      for (uint64_t messages = random() % 4; messages > 0; --messages) {
        Message message = DecodeMessage({{word(), word(), word(), random(), random()}});
        if (random() % 32 != 0) {
          message.type = static_cast<MessageType>(random() % 4 == 0 ? 128 + random() % 7
                                                                    : 64 + random() % 12);
          message.seqnum = static_cast<uint32_t>(step / 8 + random() % 4);
          message.cpu = static_cast<CpuId>(random() % (kCpus + 1));
        }
        bed.channel.Tell(message);
      }
      for (CpuId cpu = 0; cpu < kCpus; ++cpu) {
        if (!bed.channel.transaction(cpu) || random() % 3 == 0) continue;
        if (random() % 2 == 0) {
          bed.channel.Enforce(cpu);
        } else {
          bed.channel.Refuse(cpu, static_cast<Status>(INT_MIN + static_cast<int>(random() % 18)),
                             bed.channel.transaction(cpu)->task_barrier + random() % 3,
                             static_cast<uint32_t>(random() % 16));
        }
      }
      if (random() % 1000 == 0) bed.channel.loss = true;
      if (random() % 3000 == 0) bed.channel.Forget();
      bed.Step(random() % 50'000);
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(bed.agent.counters().enforced, 1'000u) << "it went on to decide";
    EXPECT_LE(bed.agent.tasks(), 30u);
  }));
}

INSTANTIATE_TEST_SUITE_P(All, AgentOfEveryPolicy, testing::ValuesIn(kPolicyNames),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sluice::engine::sched
