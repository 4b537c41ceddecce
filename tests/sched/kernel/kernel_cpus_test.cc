// SPDX-License-Identifier: BSD-3-Clause
//
// Tests latches, and CPUs that go online and offline. The cases are rewritten versions of those in
// ghOSt's api, channel and enclave tests.
#include <gtest/gtest.h>

#include <vector>

#include "engine/sched/kernel.h"
#include "kernel_fixture.h"

namespace sluice::engine::sched {
namespace {

using test::KernelTest;

// --- Latches --------------------------------------------------------------------------------

TEST_F(KernelTest, ASecondDecisionEvictsTheLatchedTaskAndTellsThatItNeverRan) {
  const Gtid first = kernel.Create({}, ++now);
  const Gtid second = kernel.Create({}, ++now);
  EXPECT_EQ(Commit(Choose(3, first)), Status::kComplete);
  kernel.ClearMessages();
  EXPECT_EQ(Commit(Choose(3, second)), Status::kComplete);
  const Message message = OnlyMessage();
  EXPECT_EQ(message.type, MessageType::kTaskPreempt);
  EXPECT_EQ(message.gtid, first);
  EXPECT_EQ(message.flags, kWasLatched);
  EXPECT_EQ(message.runtime, 0u);
  EXPECT_EQ(kernel.Switch(3, ++now), second);
  EXPECT_EQ(Commit(Choose(0, first)), Status::kComplete);
}

TEST_F(KernelTest, TheEvictedTaskCannotBeChosenByWhatWasSeenBefore) {
  const Gtid first = kernel.Create({}, ++now);
  const Transaction earlier = Choose(0, first);
  EXPECT_EQ(Commit(Choose(3, first)), Status::kComplete);
  EXPECT_EQ(Commit(Choose(3, kernel.Create({}, ++now))), Status::kComplete);
  EXPECT_EQ(Commit(earlier), Status::kTargetStale);
}

TEST_F(KernelTest, ALatchedTaskGetsOntoTheCpuWhenTheOtherHasLeftIt) {
  const Gtid first = kernel.Create({}, ++now);
  const Gtid second = kernel.Create({}, ++now);
  Run(0, first);
  EXPECT_EQ(Commit(Choose(0, second)), Status::kComplete);
  EXPECT_TRUE(kernel.cpu(0).must_switch);
  EXPECT_EQ(kernel.cpu(0).current, first);
  kernel.ClearMessages();
  EXPECT_TRUE(kernel.Preempt(0, false, ++now));
  EXPECT_EQ(OnlyMessage().flags, 0);
  EXPECT_EQ(kernel.Switch(0, ++now), second);
}

TEST_F(KernelTest, NoTaskAndIdleTaskEmptyTheCpuAndItsLatch) {
  for (const Gtid nobody : {kNoTask, kIdleTask}) {
    const Gtid first = kernel.Create({}, ++now);
    const Gtid second = kernel.Create({}, ++now);
    Run(0, first);
    EXPECT_EQ(Commit(Choose(0, second)), Status::kComplete);
    EXPECT_EQ(Commit({.cpu = 0, .gtid = nobody}), Status::kComplete);
    EXPECT_TRUE(kernel.cpu(0).must_switch);
    kernel.Preempt(0, false, ++now);
    EXPECT_EQ(kernel.Switch(0, ++now), kNoTask);
    kernel.Exit(first, ++now);
    kernel.Exit(second, ++now);
  }
}

TEST_F(KernelTest, ATaskThatIsToStayStaysAndItsRivalIsEvicted) {
  const Gtid first = kernel.Create({}, ++now);
  const Gtid second = kernel.Create({}, ++now);
  Run(0, first);
  EXPECT_EQ(Commit(Choose(0, second)), Status::kComplete);
  Transaction stay = Choose(0, first);
  stay.commit_flags = kAllowTaskOnCpu;
  EXPECT_EQ(Commit(stay), Status::kComplete);
  EXPECT_FALSE(kernel.cpu(0).must_switch);
  EXPECT_FALSE(kernel.Find(second)->latched);
}

TEST_F(KernelTest, APingIsAnsweredAndMovesNobody) {
  const Gtid task = kernel.Create({}, ++now);
  Run(1, task);
  kernel.ClearMessages();
  EXPECT_EQ(Commit({.cpu = 1, .gtid = kAgentTask}), Status::kComplete);
  const Message message = OnlyMessage();
  EXPECT_EQ(message.type, MessageType::kCpuAgentWakeup);
  EXPECT_EQ(message.cpu, 1);
  EXPECT_FALSE(kernel.cpu(1).must_switch);
}

TEST_F(KernelTest, ALatchedTaskCanBeLetGo) {
  const Gtid task = kernel.Create({}, ++now);
  EXPECT_FALSE(kernel.Unlatch(0, ++now));
  EXPECT_EQ(Commit(Choose(0, task)), Status::kComplete);
  kernel.ClearMessages();
  EXPECT_TRUE(kernel.Unlatch(0, ++now));
  EXPECT_EQ(OnlyMessage().flags, kWasLatched);
  EXPECT_EQ(kernel.Switch(0, ++now), kNoTask);
}

// --- CPUs -----------------------------------------------------------------------------------

TEST_F(KernelTest, TheAgentThatAskedHearsOnceThatTheCpuIsNotIdleAnyMore) {
  EXPECT_EQ(kernel.Switch(0, ++now), kNoTask);
  EXPECT_EQ(Commit({.cpu = 0, .run_flags = kNeedCpuNotIdle, .gtid = kIdleTask}), Status::kComplete);
  EXPECT_TRUE(DrainMessages().empty());
  kernel.SetBusyElsewhere(0, true, ++now);
  const std::vector<Message> heard = DrainMessages();
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].type, MessageType::kCpuNotIdle);
  EXPECT_EQ(heard[0].cpu, 0);
  EXPECT_EQ(heard[1].type, MessageType::kCpuBusy);
  kernel.SetBusyElsewhere(0, false, ++now);
  EXPECT_EQ(OnlyMessage().type, MessageType::kCpuAvailable);
  EXPECT_EQ(kernel.Switch(0, ++now), kNoTask);
  kernel.SetBusyElsewhere(0, true, ++now);
  EXPECT_EQ(OnlyMessage().type, MessageType::kCpuBusy);
}

TEST_F(KernelTest, ACpuThatNobodyAskedAboutStopsIdlingInSilence) {
  kernel.Switch(0, ++now);
  const Gtid task = kernel.Create({}, ++now);
  DrainMessages();
  Run(0, task);
  EXPECT_TRUE(DrainMessages().empty());
}

TEST_F(KernelTest, ACpuTakenByTheHostGivesUpItsTaskWithABoostAndItsLatchedTask) {
  const Gtid running = kernel.Create({}, ++now);
  const Gtid latched = kernel.Create({}, ++now);
  Run(0, running);
  EXPECT_EQ(Commit(Choose(0, latched)), Status::kComplete);
  kernel.ClearMessages();
  kernel.SetBusyElsewhere(0, true, ++now);
  const std::vector<Message> heard = DrainMessages();
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(heard[0].type, MessageType::kCpuBusy);
  EXPECT_EQ(heard[1].gtid, latched);
  EXPECT_EQ(heard[1].flags, kWasLatched | kBoostPriority);
  EXPECT_EQ(heard[2].gtid, running);
  EXPECT_EQ(heard[2].flags, kBoostPriority);
  EXPECT_EQ(kernel.Switch(0, ++now), kNoTask);
}

TEST_F(KernelTest, ACpuIsBackOnlyWhenItIsOnlineAndNotBusy) {
  kernel.SetBusyElsewhere(0, true, ++now);
  kernel.SetOnline(0, false, ++now);
  EXPECT_EQ(OnlyMessage().type, MessageType::kCpuBusy);
  kernel.SetBusyElsewhere(0, false, ++now);
  EXPECT_TRUE(DrainMessages().empty());
  kernel.SetOnline(0, true, ++now);
  EXPECT_EQ(OnlyMessage().type, MessageType::kCpuAvailable);
}

TEST_F(KernelTest, ACpuThatGoesOfflineGivesUpItsTask) {
  const Gtid task = kernel.Create({}, ++now);
  Run(3, task);
  kernel.SetOnline(3, false, ++now);
  EXPECT_EQ(kernel.cpu(3).current, kNoTask);
  EXPECT_EQ(Commit(Choose(3, task)), Status::kCpuOffline);
  EXPECT_EQ(Commit(Choose(2, task)), Status::kComplete);
}

}  // namespace
}  // namespace sluice::engine::sched
