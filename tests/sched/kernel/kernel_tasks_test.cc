// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the life cycle of tasks, and decisions that race with events of their tasks and CPUs. The
// cases are rewritten versions of those in ghOSt's api, channel and enclave tests.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "engine/sched/kernel.h"
#include "kernel_fixture.h"

namespace sluice::engine::sched {
namespace {

using test::KernelTest;
using test::kLimits;

// --- Tasks ----------------------------------------------------------------------------------

TEST_F(KernelTest, ANewTaskIsAnnouncedWithAllThatAPolicyWants) {
  const Gtid task = kernel.Create({.task_class = 3, .group = 9, .affinity = 0b0101}, 5);
  EXPECT_GT(task, 0);
  const Message message = OnlyMessage();
  EXPECT_EQ(message.type, MessageType::kTaskNew);
  EXPECT_EQ(message.gtid, task);
  EXPECT_EQ(message.flags, kRunnable);
  EXPECT_EQ(message.task_class, 3);
  EXPECT_EQ(message.group, 9);
  EXPECT_EQ(message.affinity, 0b0101u);
  EXPECT_EQ(message.seqnum, Barrier(task));
  EXPECT_EQ(kernel.live_tasks(), 1u);
}

TEST_F(KernelTest, ATaskThatMayRunNowhereIsNotMadeAndNeitherIsOneTooMany) {
  EXPECT_EQ(kernel.Create({.affinity = 0b1'0000}, 1), kNoTask);
  for (uint32_t i = 0; i < kLimits.max_tasks; ++i) EXPECT_NE(kernel.Create({}, 1), kNoTask);
  EXPECT_EQ(kernel.Create({}, 1), kNoTask);
  EXPECT_EQ(kernel.live_tasks(), kLimits.max_tasks);
}

TEST_F(KernelTest, NamesAreNeverUsedAgain) {
  std::set<Gtid> names;
  for (int i = 0; i < 1000; ++i) {
    const Gtid task = kernel.Create({}, ++now);
    ASSERT_TRUE(names.insert(task).second);
    kernel.Exit(task, ++now);
    kernel.ClearMessages();
  }
}

TEST_F(KernelTest, TheDeadAreForgottenInTheOrderOfTheirDeath) {
  std::vector<Gtid> tasks;
  for (uint32_t i = 0; i < kLimits.max_tasks; ++i) tasks.push_back(kernel.Create({}, ++now));
  const std::vector<Gtid> order = {tasks[5], tasks[0], tasks[7]};
  for (const Gtid task : order) kernel.Exit(task, ++now);
  for (size_t forgotten = 1; forgotten <= order.size(); ++forgotten) {
    EXPECT_NE(kernel.Create({}, ++now), kNoTask);
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(kernel.Check(0, {.cpu = 0, .gtid = order[i]}),
                i < forgotten ? Status::kTargetNotFound : Status::kTargetStale);
    }
  }
}

TEST_F(KernelTest, NothingHappensToATaskThatIsNotInTheStateForIt) {
  const Gtid task = kernel.Create({}, ++now);
  const Gtid dead = kernel.Create({}, ++now);
  kernel.Exit(dead, ++now);
  const Gtid departed = kernel.Create({}, ++now);
  kernel.Depart(departed, ++now);
  kernel.ClearMessages();
  EXPECT_FALSE(kernel.Wake(task, false, ++now));
  for (const Gtid gtid : {dead, departed, Gtid{12345}, kNoTask, kAgentTask, kIdleTask}) {
    EXPECT_FALSE(kernel.Wake(gtid, false, ++now)) << gtid;
    EXPECT_FALSE(kernel.Depart(gtid, ++now)) << gtid;
    EXPECT_FALSE(kernel.SetAffinity(gtid, 1, ++now)) << gtid;
    if (gtid != departed) {
      EXPECT_FALSE(kernel.Exit(gtid, ++now)) << gtid;
    }
  }
  EXPECT_FALSE(kernel.SetAffinity(task, 0b1'0000, ++now));
  EXPECT_FALSE(kernel.Block(0, ++now));
  EXPECT_FALSE(kernel.Yield(0, ++now));
  EXPECT_FALSE(kernel.Preempt(0, true, ++now));
  EXPECT_TRUE(DrainMessages().empty());
}

TEST_F(KernelTest, TheTimeOnCpusIsToldAndAddsUp) {
  const Gtid task = kernel.Create({}, 10);
  kernel.Apply(Choose(1, task), 20);
  kernel.Switch(1, 100);
  kernel.ClearMessages();
  kernel.Block(1, 130);
  EXPECT_EQ(OnlyMessage().runtime, 30u);
  kernel.Wake(task, true, 200);
  const Message woken = OnlyMessage();
  EXPECT_EQ(woken.type, MessageType::kTaskWakeup);
  EXPECT_EQ(woken.flags, kDeferrable);
  EXPECT_EQ(woken.cpu, 1);
  kernel.Apply(Choose(1, task), 210);
  kernel.Switch(1, 300);
  kernel.ClearMessages();
  kernel.Yield(1, 345);
  const Message yielded = OnlyMessage();
  EXPECT_EQ(yielded.type, MessageType::kTaskYield);
  EXPECT_EQ(yielded.runtime, 75u);
}

TEST_F(KernelTest, ATaskThatEndsOnACpuLeavesItAndTheCpuIsToSchedule) {
  const Gtid task = kernel.Create({}, ++now);
  Run(2, task);
  kernel.ClearMessages();
  EXPECT_TRUE(kernel.Exit(task, ++now));
  EXPECT_EQ(OnlyMessage().type, MessageType::kTaskDead);
  EXPECT_EQ(kernel.cpu(2).current, kNoTask);
  EXPECT_TRUE(kernel.cpu(2).must_switch);
  EXPECT_EQ(kernel.Switch(2, ++now), kNoTask);
  EXPECT_FALSE(kernel.cpu(2).must_switch);
  EXPECT_EQ(kernel.live_tasks(), 0u);
}

TEST_F(KernelTest, ATaskThatEndsWhileItIsLatchedNeverRuns) {
  const Gtid task = kernel.Create({}, ++now);
  EXPECT_EQ(Commit(Choose(2, task)), Status::kComplete);
  kernel.Exit(task, ++now);
  EXPECT_EQ(kernel.Switch(2, ++now), kNoTask);
}

TEST_F(KernelTest, WhoWasToMakeWayForALatchedTaskThatEndedStays) {
  const Gtid running = kernel.Create({}, ++now);
  const Gtid latched = kernel.Create({}, ++now);
  Run(0, running);
  EXPECT_EQ(Commit(Choose(0, latched)), Status::kComplete);
  EXPECT_TRUE(kernel.cpu(0).must_switch);
  kernel.Exit(latched, ++now);
  EXPECT_FALSE(kernel.cpu(0).must_switch);
  EXPECT_EQ(kernel.cpu(0).current, running);
}

// --- Races of decisions with events -----------------------------------------------------------

TEST_F(KernelTest, ADecisionForATaskThatDiedMeanwhileIsRefused) {
  const Gtid task = kernel.Create({}, ++now);
  const Transaction decision = Choose(0, task);
  kernel.Exit(task, ++now);
  EXPECT_EQ(Commit(decision), Status::kTargetStale);
  EXPECT_EQ(kernel.Switch(0, ++now), kNoTask);
}

TEST_F(KernelTest, ADecisionThatRacesWithAnAffinityChangeIsStaleAndTheNextIsNotPermitted) {
  const Gtid task = kernel.Create({}, ++now);
  const Transaction decision = Choose(1, task);
  kernel.SetAffinity(task, MaskOf(0), ++now);
  EXPECT_EQ(Commit(decision), Status::kTargetStale);
  EXPECT_EQ(Commit(Choose(1, task)), Status::kNotPermitted);
  EXPECT_EQ(Commit(Choose(0, task)), Status::kComplete);
}

// A name consists of a slot number and the number of times that the slot has been used. With one
// slot, the first task's name is 1.
TEST(KernelOfOneTask, HeedsWhereThatMayRun) {
  Kernel kernel({.cpus = 2, .max_tasks = 1});
  kernel.SetAgent(true, 0);
  const Gtid task = kernel.Create({.affinity = MaskOf(1)}, 1);
  const auto check = [&](CpuId cpu) {
    return kernel.Check(cpu,
                        {.cpu = cpu, .gtid = task, .task_barrier = kernel.Find(task)->barrier});
  };
  EXPECT_EQ(check(0), Status::kNotPermitted);
  EXPECT_EQ(check(1), Status::kComplete);
}

TEST_F(KernelTest, AnAffinityThatExcludesItsCpuTakesATaskOffIt) {
  const Gtid task = kernel.Create({}, ++now);
  Run(1, task);
  kernel.ClearMessages();
  EXPECT_TRUE(kernel.SetAffinity(task, MaskOf(0), ++now));
  const std::vector<Message> heard = DrainMessages();
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].type, MessageType::kTaskAffinityChanged);
  EXPECT_EQ(heard[0].affinity, MaskOf(0));
  EXPECT_EQ(heard[1].type, MessageType::kTaskPreempt);
  EXPECT_EQ(heard[1].flags & kWasLatched, 0);
  EXPECT_EQ(kernel.cpu(1).current, kNoTask);
  EXPECT_EQ(kernel.Find(task)->state, TaskState::kRunnable);
}

TEST_F(KernelTest, AnAffinityThatExcludesItsCpuLetsALatchedTaskGo) {
  const Gtid task = kernel.Create({}, ++now);
  EXPECT_EQ(Commit(Choose(1, task)), Status::kComplete);
  kernel.ClearMessages();
  kernel.SetAffinity(task, MaskOf(0), ++now);
  const std::vector<Message> heard = DrainMessages();
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[1].type, MessageType::kTaskPreempt);
  EXPECT_EQ(heard[1].flags, kWasLatched);
  EXPECT_EQ(kernel.Switch(1, ++now), kNoTask);
}

TEST_F(KernelTest, ADepartureIsStaleUntilItWasSeenAndAnInvalidTargetAfterwards) {
  const Gtid task = kernel.Create({}, ++now);
  Run(0, task);
  kernel.ClearMessages();
  EXPECT_TRUE(kernel.Depart(task, ++now));
  const Message message = OnlyMessage();
  EXPECT_EQ(message.type, MessageType::kTaskDeparted);
  EXPECT_EQ(message.flags, kWasCurrent);
  EXPECT_EQ(message.cpu, 0);
  EXPECT_EQ(Commit(Choose(0, task)), Status::kTargetStale);
  kernel.DepartureSeen(task);
  EXPECT_EQ(Commit(Choose(0, task)), Status::kInvalidTarget);
}

TEST_F(KernelTest, ATaskThatDepartedEndsInSilenceWhetherThatWasSeenOrNot) {
  for (const bool seen : {false, true}) {
    const Gtid stays = kernel.Create({}, ++now);
    const Gtid task = kernel.Create({}, ++now);
    kernel.Depart(task, ++now);
    if (seen) kernel.DepartureSeen(task);
    kernel.ClearMessages();
    const uint32_t barrier = Barrier(task);
    EXPECT_EQ(kernel.live_tasks(), 1u);
    EXPECT_TRUE(kernel.Exit(task, ++now));
    EXPECT_TRUE(DrainMessages().empty());
    EXPECT_EQ(Barrier(task), barrier);
    EXPECT_EQ(kernel.live_tasks(), 1u) << "it had left already";
    EXPECT_EQ(Commit(Choose(0, task)), Status::kTargetStale);
    EXPECT_FALSE(kernel.Exit(task, ++now)) << "once";
    kernel.Exit(stays, ++now);
    // The next task reuses the slot, but must not be considered departed.
    for (uint32_t i = 0; i < kLimits.max_tasks; ++i) {
      const Gtid next = kernel.Create({}, ++now);
      EXPECT_EQ(kernel.Check(0, Choose(0, next)), Status::kComplete);
      kernel.Exit(next, ++now);
    }
    EXPECT_EQ(kernel.Find(task), nullptr);
    kernel.ClearMessages();
  }
}

}  // namespace
}  // namespace sluice::engine::sched
