// SPDX-License-Identifier: BSD-3-Clause
//
// Tests scheduling on the host's CPUs and the supervision of the agent, over a channel that
// delivers immediately. The rules are those of Wave and ghOSt.
#include "engine/sched/host.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "direct_channel.h"
#include "engine/sched/kernel.h"
#include "engine/sched/kernel_checker.h"

namespace sluice::engine::sched {
namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;

class HostTest : public testing::Test {
 protected:
  void Attach(Nanoseconds now = 0) {
    channel.restart = true;
    host.Tick(now);
    ASSERT_FALSE(channel.events.empty());
    EXPECT_EQ(channel.events.front().type, MessageType::kDiscovery);
    channel.events.pop_front();
  }
  Gtid Run(CpuId cpu, Reason reason, Nanoseconds now) {
    host.BeginSwitch(cpu, reason, now);
    return host.EndSwitch(cpu, now);
  }
  Transaction Choose(CpuId cpu, Gtid gtid, uint16_t commit_flags = 0) const {
    const Task* task = kernel.Find(gtid);
    return {.cpu = cpu,
            .commit_flags = commit_flags,
            .gtid = gtid,
            .task_barrier = task == nullptr ? 0 : task->barrier};
  }
  std::vector<MessageType> DrainMessages() {
    std::vector<MessageType> types;
    for (const Message& message : channel.events) types.push_back(message.type);
    channel.events.clear();
    return types;
  }
  uint64_t Count(Status status) const {
    return host.counters()
        .statuses[static_cast<uint32_t>(status) - static_cast<uint32_t>(Status::kComplete)];
  }

  Kernel kernel{{.cpus = 4, .max_tasks = 64}};
  DirectChannel channel;
  SchedHost<DirectChannel> host{kernel, channel, {}};
};

TEST_F(HostTest, ACommittedTaskRunsAfterTheIdleCpuLookedAndTheAgentHearsThatItHeld) {
  Attach();
  const Gtid task = kernel.Create({}, 1);
  host.Forward();
  EXPECT_EQ(DrainMessages(), (std::vector{MessageType::kTaskNew}));
  EXPECT_FALSE(host.Look(2, 2));
  channel.Commit(2, Choose(2, task));
  EXPECT_TRUE(host.Look(2, 3));
  EXPECT_EQ(channel.Ended(2), Status::kComplete);
  EXPECT_EQ(Run(2, Reason::kIdle, 4), task);
  EXPECT_FALSE(host.Look(2, 5));
  EXPECT_EQ(Count(Status::kComplete), 1u);
}

TEST_F(HostTest, TheMessageOfTheSwitchAsksForADecisionAndEarlierOnesDoNot) {
  Attach();
  const Gtid task = kernel.Create({}, 1);
  channel.Commit(1, Choose(1, task));
  EXPECT_EQ(Run(1, Reason::kIdle, 2), task);
  EXPECT_TRUE(channel.asked.empty());
  DrainMessages();
  kernel.Create({}, 3);
  EXPECT_EQ(Run(1, Reason::kBlock, 4), kNoTask);
  EXPECT_EQ(DrainMessages(), (std::vector{MessageType::kTaskNew, MessageType::kTaskBlocked}));
  EXPECT_EQ(channel.asked, std::vector<offload::Slot>{1});
}

TEST_F(HostTest, APrestagedDecisionWaitsForScheduleAndThenHits) {
  Attach();
  const Gtid first = kernel.Create({}, 1);
  const Gtid second = kernel.Create({}, 1);
  channel.Commit(0, Choose(0, first));
  EXPECT_EQ(Run(0, Reason::kIdle, 2), first);
  channel.Commit(0, Choose(0, second, kCommitAtSchedule));
  EXPECT_FALSE(host.Look(0, 3));
  EXPECT_EQ(channel.Ended(0), std::nullopt);
  EXPECT_EQ(Run(0, Reason::kBlock, 4), second);
  EXPECT_EQ(channel.Ended(0), Status::kComplete);
  EXPECT_EQ(host.counters().prestage_hits, 2u);
}

TEST_F(HostTest, AnIdleCpuIsToScheduleWhenAPrestagedDecisionCameTooLate) {
  Attach();
  const Gtid task = kernel.Create({}, 1);
  EXPECT_EQ(Run(0, Reason::kIdle, 2), kNoTask);
  EXPECT_EQ(host.counters().prestage_empty, 1u);
  channel.Commit(0, Choose(0, task, kCommitAtSchedule));
  EXPECT_TRUE(host.Look(0, 3));
  EXPECT_EQ(Run(0, Reason::kIdle, 4), task);
}

TEST_F(HostTest, APrestagedDecisionThatBecameStaleIsRefusedWithTheStateAsItIs) {
  Attach();
  const Gtid task = kernel.Create({}, 1);
  channel.Commit(0, Choose(0, task, kCommitAtSchedule));
  kernel.SetAffinity(task, MaskOf(0), 2);
  EXPECT_EQ(Run(0, Reason::kIdle, 3), kNoTask);
  EXPECT_EQ(channel.Ended(0), Status::kTargetStale);
  EXPECT_EQ(channel.outcome(0).task_barrier, kernel.Find(task)->barrier);
  EXPECT_EQ(channel.outcome(0).task_flags, kStatusInUse | kStatusRunnable);
  EXPECT_EQ(host.counters().prestage_stale, 1u);
}

TEST_F(HostTest, WhileSomebodyIsLatchedThePrestagedDecisionStaysForTheNextSchedule) {
  Attach();
  const Gtid first = kernel.Create({}, 1);
  const Gtid second = kernel.Create({}, 1);
  channel.Commit(0, Choose(0, first));
  EXPECT_TRUE(host.Look(0, 2));
  channel.Commit(0, Choose(0, second, kCommitAtSchedule));
  EXPECT_EQ(Run(0, Reason::kIdle, 3), first);
  EXPECT_EQ(channel.Ended(0), std::nullopt);
  EXPECT_EQ(Run(0, Reason::kYield, 4), second);
}

TEST_F(HostTest, ADecisionThatWasRecalledInTimeEndsAsAborted) {
  Attach();
  const Gtid task = kernel.Create({}, 1);
  channel.Commit(0, Choose(0, task, kCommitAtSchedule));
  channel.Recall(0);
  EXPECT_FALSE(host.Look(0, 2));
  EXPECT_EQ(channel.Ended(0), Status::kAborted);
  EXPECT_EQ(Count(Status::kAborted), 1u);
  EXPECT_EQ(Run(0, Reason::kIdle, 3), kNoTask);
}

TEST_F(HostTest, AnAgentsPreemptionTellsWhoHadToLeaveAndRunsTheOther) {
  Attach();
  const Gtid first = kernel.Create({}, 1);
  const Gtid second = kernel.Create({}, 1);
  channel.Commit(0, Choose(0, first));
  Run(0, Reason::kIdle, 2);
  DrainMessages();
  channel.Commit(0, Choose(0, second));
  EXPECT_TRUE(host.Look(0, 3));
  EXPECT_EQ(kernel.cpu(0).current, first);
  EXPECT_EQ(Run(0, Reason::kPreempt, 4), second);
  EXPECT_EQ(DrainMessages(), (std::vector{MessageType::kTaskPreempt}));
}

TEST_F(HostTest, AGroupWaitsUntilAllItsSlotsHoldADecisionAndThenHoldsAsAWhole) {
  Attach();
  Transaction one = Choose(0, kernel.Create({}, 1));
  Transaction other = Choose(3, kernel.Create({}, 1));
  one.sync_group = other.sync_group = MaskOf(0) | MaskOf(3);
  channel.Commit(0, one);
  EXPECT_FALSE(host.Look(0, 2));
  EXPECT_EQ(channel.Ended(0), std::nullopt);
  channel.Commit(3, other);
  EXPECT_TRUE(host.Look(0, 3));
  EXPECT_EQ(channel.Ended(0), Status::kComplete);
  EXPECT_EQ(kernel.cpu(0).latched, one.gtid);
  EXPECT_EQ(kernel.cpu(3).latched, other.gtid);
  EXPECT_TRUE(host.Look(3, 4));
  EXPECT_EQ(channel.Ended(3), Status::kComplete);
  EXPECT_EQ(Run(3, Reason::kIdle, 5), other.gtid);
  EXPECT_EQ(Violation(kernel), nullptr);
}

TEST_F(HostTest, OneRefusedMemberPoisonsTheRestOfItsGroupAndNobodyRuns) {
  Attach();
  Transaction one = Choose(0, kernel.Create({}, 1));
  Transaction other = Choose(1, kernel.Create({}, 1));
  one.sync_group = other.sync_group = MaskOf(0) | MaskOf(1);
  other.task_barrier += 1;
  channel.Commit(0, one);
  channel.Commit(1, other);
  EXPECT_FALSE(host.Look(0, 2));
  EXPECT_FALSE(host.Look(1, 2));
  EXPECT_EQ(channel.Ended(0), Status::kPoisoned);
  EXPECT_EQ(channel.Ended(1), Status::kTargetStale);
  EXPECT_EQ(Run(0, Reason::kIdle, 3), kNoTask);
}

TEST_F(HostTest, AGroupIsPoisonedIfAnotherDecisionIsInThePlaceOfAMember) {
  Attach();
  Transaction one = Choose(0, kernel.Create({}, 1));
  const Transaction other = Choose(1, kernel.Create({}, 1));
  one.sync_group = MaskOf(0) | MaskOf(1);
  channel.Commit(0, one);
  channel.Commit(1, other);
  EXPECT_FALSE(host.Look(0, 2));
  EXPECT_EQ(channel.Ended(0), Status::kPoisoned);
  EXPECT_TRUE(host.Look(1, 2));
  EXPECT_EQ(channel.Ended(1), Status::kComplete);
}

TEST_F(HostTest, AMemberThatIsRecalledAfterItsGroupHeldIsTakenOffAgain) {
  Attach();
  Transaction one = Choose(0, kernel.Create({}, 1));
  Transaction other = Choose(1, kernel.Create({}, 1));
  one.sync_group = other.sync_group = MaskOf(0) | MaskOf(1);
  channel.Commit(0, one);
  channel.Commit(1, other);
  EXPECT_TRUE(host.Look(0, 2));
  DrainMessages();
  channel.Recall(1);
  host.Look(1, 3);
  EXPECT_EQ(channel.Ended(1), Status::kAborted);
  EXPECT_EQ(kernel.cpu(1).latched, kNoTask);
  EXPECT_EQ(DrainMessages(), (std::vector{MessageType::kTaskPreempt}));
  EXPECT_EQ(Violation(kernel), nullptr);
}

TEST_F(HostTest, WithoutAnAgentTheHostServesInTheOrderOfArrivalAndRefusesDecisions) {
  const Gtid first = kernel.Create({}, 1);
  const Gtid second = kernel.Create({}, 2);
  channel.Commit(0, Choose(0, second));
  EXPECT_TRUE(host.Look(0, 3));
  EXPECT_EQ(channel.Ended(0), Status::kNoAgent);
  EXPECT_EQ(Run(0, Reason::kIdle, 3), first);
  EXPECT_EQ(Run(0, Reason::kYield, 4), second);
  EXPECT_EQ(Run(0, Reason::kBlock, 5), first);
  EXPECT_EQ(host.counters().local_choices, 3u);
  EXPECT_TRUE(channel.events.empty());
}

TEST_F(HostTest, TheWatchdogExpiresAfterTwentyMillisecondsWithoutADecisionForOneWhoWaits) {
  Attach();
  const Gtid task = kernel.Create({}, 1);
  for (int tick = 1; tick <= 20; ++tick) host.Tick(tick * kMillisecond);
  EXPECT_TRUE(kernel.agent());
  host.Tick(20 * kMillisecond + 2);
  EXPECT_FALSE(kernel.agent());
  EXPECT_EQ(host.counters().watchdog_expired, 1u);
  EXPECT_TRUE(channel.lost);  // An agent that resumes must learn that it has missed events.
  EXPECT_TRUE(host.Look(0, 20 * kMillisecond + 3));
  EXPECT_EQ(Run(0, Reason::kIdle, 20 * kMillisecond + 3), task);
}

TEST_F(HostTest, TheWatchdogDoesNotCountTimeInWhichTheHostItselfHadNoCpu) {
  Attach();
  kernel.Create({}, 1);
  Nanoseconds now = 0;
  const auto tick = [&](int count) {
    for (int i = 0; i < count; ++i) host.Tick(now += kMillisecond);
  };
  tick(10);
  now += 500 * kMillisecond;
  tick(10);
  EXPECT_TRUE(kernel.agent()) << "20 ticks, of which one was late";
  EXPECT_EQ(host.counters().watchdog_expired, 0u);
  tick(2);
  EXPECT_FALSE(kernel.agent());
}

TEST_F(HostTest, TheWatchdogIsPatientWhileNobodyWaitsOrEveryCpuIsInUse) {
  Attach();
  host.Tick(100 * kMillisecond);
  EXPECT_TRUE(kernel.agent());
  for (CpuId cpu = 0; cpu < 4; ++cpu) {
    channel.Commit(cpu, Choose(cpu, kernel.Create({}, 100 * kMillisecond)));
    EXPECT_NE(Run(cpu, Reason::kIdle, 100 * kMillisecond), kNoTask);
  }
  kernel.Create({}, 101 * kMillisecond);
  host.Tick(200 * kMillisecond);
  EXPECT_TRUE(kernel.agent());
}

TEST_F(HostTest, ANewAgentIsToldEverythingAndDecidesAgain) {
  const Gtid waiting = kernel.Create({}, 1);
  const Gtid blocked = kernel.Create({.runnable = false}, 1);
  EXPECT_EQ(Run(1, Reason::kIdle, 2), waiting);
  kernel.SetBusyElsewhere(2, true, 3);
  Attach(4);
  ASSERT_EQ(channel.events.size(), 4u);
  EXPECT_EQ(channel.events[0].type, MessageType::kCpuBusy);
  EXPECT_EQ(channel.events[0].cpu, 2);
  EXPECT_EQ(channel.events[1].type, MessageType::kTaskNew);
  EXPECT_EQ(channel.events[1].gtid, waiting);
  EXPECT_EQ(channel.events[1].seqnum, kernel.Find(waiting)->barrier);
  EXPECT_EQ(channel.events[2].type, MessageType::kTaskOnCpu);
  EXPECT_EQ(channel.events[2].cpu, 1);
  EXPECT_EQ(channel.events[3].gtid, blocked);
  EXPECT_EQ(channel.events[3].flags, 0);
  channel.Commit(0, Choose(0, blocked));
  host.Look(0, 5);
  EXPECT_EQ(channel.Ended(0), Status::kTargetNotRunnable);
}

TEST(HostPacing, ASecondDiscoveryVoidsTheFirstAndDoesNotNameWhoDiedSince) {
  Kernel kernel({.cpus = 1, .max_tasks = 8});
  DirectChannel channel(2);
  SchedHost<DirectChannel> host(kernel, channel, {});
  const Gtid first = kernel.Create({}, 1);
  for (int i = 0; i < 5; ++i) kernel.Create({}, 1);
  channel.restart = true;
  host.Tick(2);
  ASSERT_EQ(channel.events.back().gtid, first);
  kernel.Exit(first, 3);
  host.Forward();  // The channel is full.
  channel.restart = true;
  std::set<Gtid> known;
  for (Nanoseconds now = 4; now < 20; ++now) {
    for (const Message& message : channel.events) {
      if (message.type == MessageType::kDiscovery) known.clear();
      if (message.type == MessageType::kTaskNew) known.insert(message.gtid);
    }
    channel.events.clear();
    host.Tick(now);
  }
  EXPECT_EQ(known.size(), 5u);
  EXPECT_FALSE(known.contains(first));
  EXPECT_FALSE(channel.lost);
}

TEST(HostPacing, ADiscoveryLongerThanTheRingLosesNothing) {
  Kernel kernel({.cpus = 1, .max_tasks = 100});
  DirectChannel channel(8);
  SchedHost<DirectChannel> host(kernel, channel, {});
  for (int i = 0; i < 100; ++i) kernel.Create({}, 1);
  channel.restart = true;
  std::vector<Gtid> heard;
  Nanoseconds now = 2;
  for (int i = 0; i < 40; ++i) {
    host.Tick(++now);
    for (const Message& message : channel.events) {
      if (message.type == MessageType::kTaskNew) heard.push_back(message.gtid);
    }
    channel.events.clear();
  }
  EXPECT_FALSE(channel.lost);
  EXPECT_EQ(heard.size(), 100u);
  std::ranges::sort(heard);
  EXPECT_EQ(std::ranges::adjacent_find(heard), heard.end());
}

TEST(HostPacing, EventsThatFindNoRoomAreLostAndSaidToBe) {
  Kernel kernel({.cpus = 1, .max_tasks = 100});
  DirectChannel channel(8);
  SchedHost<DirectChannel> host(kernel, channel, {});
  channel.restart = true;
  host.Tick(1);
  channel.events.clear();
  for (int i = 0; i < 20; ++i) kernel.Create({}, 2);
  host.Forward();
  EXPECT_TRUE(channel.lost);
  EXPECT_EQ(channel.events.size(), 8u);
  EXPECT_EQ(channel.overflows(), 12u);
}

TEST(HostPacing, AnAgentThatStopsListeningDuringADiscoveryIsGivenUpNotWaitedFor) {
  Kernel kernel({.cpus = 1, .max_tasks = 16});
  DirectChannel channel(8);
  SchedHost<DirectChannel> host(kernel, channel, {});
  for (int i = 0; i < 16; ++i) kernel.Create({}, 1);
  channel.restart = true;
  host.Tick(2);
  for (Nanoseconds now = 3; now < 10'000 && !channel.lost; ++now) {
    const Gtid task = kernel.Create({}, now);
    EXPECT_EQ(task, kNoTask);
    EXPECT_TRUE(kernel.SetAffinity(channel.events.back().gtid, 1, now));
    host.Forward();
  }
  EXPECT_TRUE(channel.lost);
  EXPECT_EQ(channel.events.size(), 8u);
}

}  // namespace
}  // namespace sluice::engine::sched
