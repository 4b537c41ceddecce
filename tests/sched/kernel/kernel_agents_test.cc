// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the agent's view (barriers, discovery) and the host's behavior without an agent. The cases
// are rewritten versions of those in ghOSt's api, channel and enclave tests.
#include <gtest/gtest.h>

#include <vector>

#include "engine/sched/kernel.h"
#include "engine/sched/kernel_checker.h"
#include "kernel_fixture.h"

namespace sluice::engine::sched {
namespace {

using test::KernelTest;

// --- Barriers -------------------------------------------------------------------------------

TEST_F(KernelTest, EveryMessageAboutATaskMovesItsBarrierByOneAndCarriesIt) {
  const Gtid task = kernel.Create({}, ++now);
  EXPECT_EQ(OnlyMessage().seqnum, Barrier(task));
  uint32_t expected = Barrier(task);
  const auto one_more = [&](const char* what) {
    EXPECT_EQ(Barrier(task), ++expected) << what;
    EXPECT_EQ(OnlyMessage().seqnum, expected) << what;
  };
  Run(0, task);
  EXPECT_EQ(Barrier(task), expected);
  EXPECT_TRUE(DrainMessages().empty());
  kernel.Yield(0, ++now);
  one_more("yield");
  Run(0, task);
  kernel.Preempt(0, false, ++now);
  one_more("preempt");
  Run(1, task);
  kernel.Block(1, ++now);
  one_more("block");
  kernel.Wake(task, false, ++now);
  one_more("wake");
  kernel.SetAffinity(task, 0b1111, ++now);
  one_more("affinity");
  kernel.Depart(task, ++now);
  one_more("depart");
}

TEST_F(KernelTest, OtherTasksMessagesMoveOnlyTheAgentsBarrier) {
  const Gtid task = kernel.Create({}, ++now);
  const uint32_t barrier = Barrier(task);
  const uint32_t agent = kernel.agent_barrier();
  kernel.Create({}, ++now);
  kernel.SetBusyElsewhere(1, true, ++now);
  EXPECT_EQ(Barrier(task), barrier);
  EXPECT_EQ(kernel.agent_barrier(), agent + 2);
}

TEST_F(KernelTest, ACpusSeqnumMovesWhenWhatRunsThereChanges) {
  const Gtid task = kernel.Create({}, ++now);
  const uint32_t idle = kernel.cpu(0).seqnum;
  EXPECT_EQ(Commit(Choose(0, task)), Status::kComplete);
  EXPECT_EQ(kernel.cpu(0).seqnum, idle);
  kernel.Switch(0, ++now);
  EXPECT_EQ(kernel.cpu(0).seqnum, idle + 1);
  kernel.Block(0, ++now);
  EXPECT_EQ(kernel.cpu(0).seqnum, idle + 2);
}

TEST_F(KernelTest, AnOutcomeTellsTheStateAsItIs) {
  const Gtid task = kernel.Create({}, ++now);
  const Gtid other = kernel.Create({}, ++now);
  Run(2, other);
  const Outcome waiting = kernel.Describe(2, Choose(2, task), Status::kComplete, 77);
  EXPECT_EQ(waiting.task_barrier, Barrier(task));
  EXPECT_EQ(waiting.task_flags, kStatusInUse | kStatusRunnable);
  EXPECT_EQ(waiting.current, other);
  EXPECT_EQ(waiting.cpu_seqnum, kernel.cpu(2).seqnum);
  EXPECT_EQ(waiting.time, 77u);
  EXPECT_EQ(kernel.Describe(2, Choose(2, other), Status::kTargetOnCpu, 77).task_flags,
            kStatusInUse | kStatusRunnable | kStatusOnCpu);
  kernel.Exit(task, ++now);
  EXPECT_EQ(kernel.Describe(2, Choose(2, task), Status::kTargetStale, 77).task_flags, 0u);
  EXPECT_EQ(kernel.Describe(9, {.cpu = 9, .gtid = -7}, Status::kInvalidCpu, 77),
            (Outcome{.status = Status::kInvalidCpu, .gtid = -7, .time = 77}));
}

// --- Agents that start and stop ---------------------------------------------------------------

TEST_F(KernelTest, DiscoveryTellsTheLivingWithTheirPresentBarriersAndChangesNone) {
  const Gtid waits = kernel.Create({.task_class = 1}, ++now);
  const Gtid blocked = kernel.Create({.runnable = false}, ++now);
  const Gtid runs = kernel.Create({}, ++now);
  const Gtid latched = kernel.Create({}, ++now);
  const Gtid dead = kernel.Create({}, ++now);
  const Gtid departed = kernel.Create({}, ++now);
  Run(2, runs);
  EXPECT_EQ(Commit(Choose(3, latched)), Status::kComplete);
  kernel.Exit(dead, ++now);
  kernel.Depart(departed, ++now);
  kernel.SetAffinity(waits, 0b11, ++now);
  kernel.ClearMessages();
  std::vector<uint32_t> barriers;
  for (const Gtid task : {waits, blocked, runs, latched}) barriers.push_back(Barrier(task));
  kernel.Discover(++now);
  std::vector<Message> heard = DrainMessages();
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard.front().type, MessageType::kDiscovery);
  heard.erase(heard.begin());
  ASSERT_EQ(heard.size(), 6u);
  const std::vector<std::pair<MessageType, Gtid>> expected = {
      {MessageType::kTaskNew, waits},   {MessageType::kTaskNew, blocked},
      {MessageType::kTaskNew, runs},    {MessageType::kTaskOnCpu, runs},
      {MessageType::kTaskNew, latched}, {MessageType::kTaskOnCpu, latched}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(heard[i].type, expected[i].first) << i;
    EXPECT_EQ(heard[i].gtid, expected[i].second) << i;
    EXPECT_EQ(heard[i].seqnum, Barrier(heard[i].gtid)) << i;
  }
  EXPECT_EQ(heard[0].flags, kRunnable);
  EXPECT_EQ(heard[0].task_class, 1);
  EXPECT_EQ(heard[0].affinity, 0b11u);
  // Blocked tasks and tasks with a CPU or a latch cannot be assigned.
  for (const size_t i : {1, 2, 4}) EXPECT_EQ(heard[i].flags, 0) << i;
  EXPECT_EQ(heard[3].cpu, 2);
  EXPECT_EQ(heard[3].flags, 0);
  EXPECT_EQ(heard[5].cpu, 3);
  EXPECT_EQ(heard[5].flags, kWasLatched);
  size_t i = 0;
  for (const Gtid task : {waits, blocked, runs, latched}) EXPECT_EQ(Barrier(task), barriers[i++]);
  EXPECT_EQ(Commit(Choose(0, departed)), Status::kInvalidTarget);
}

TEST_F(KernelTest, WithoutAnAgentTheOneThatWaitsForTheLongestAndMayRunThereIsNext) {
  kernel.SetAgent(false, ++now);
  const Gtid pinned = kernel.Create({.affinity = MaskOf(3)}, ++now);
  const Gtid first = kernel.Create({}, ++now);
  const Gtid second = kernel.Create({}, ++now);
  EXPECT_TRUE(kernel.HasNext(0));
  EXPECT_EQ(kernel.Switch(0, ++now), first);
  kernel.Yield(0, ++now);
  EXPECT_EQ(kernel.Switch(0, ++now), second);
  EXPECT_EQ(kernel.Switch(1, ++now), first);
  EXPECT_FALSE(kernel.HasNext(2));
  EXPECT_EQ(kernel.Switch(2, ++now), kNoTask);
  EXPECT_EQ(kernel.Switch(3, ++now), pinned);
}

TEST_F(KernelTest, WhatAnAgentLatchedBeforeItWentIsStillServedAndToNobodyElse) {
  const Gtid first = kernel.Create({}, ++now);
  const Gtid second = kernel.Create({}, ++now);
  EXPECT_EQ(Commit(Choose(1, first)), Status::kComplete);
  kernel.SetAgent(false, ++now);
  EXPECT_EQ(kernel.Switch(0, ++now), second);
  EXPECT_EQ(kernel.Switch(1, ++now), first);
}

TEST_F(KernelTest, WithAnAgentNobodyRunsUndecided) {
  kernel.Create({}, ++now);
  EXPECT_FALSE(kernel.HasNext(0));
  EXPECT_EQ(kernel.Switch(0, ++now), kNoTask);
}

TEST_F(KernelTest, ATaskStarvesOnlyAfterLongerThanTheTimeout) {
  EXPECT_FALSE(kernel.Starves(10, 1000));
  const Gtid task = kernel.Create({}, 1000);
  EXPECT_FALSE(kernel.Starves(10, 1010));
  EXPECT_TRUE(kernel.Starves(10, 1011));
  kernel.Apply(Choose(0, task), 1012);
  kernel.Switch(0, 1013);
  EXPECT_FALSE(kernel.Starves(10, 5000));
  kernel.Yield(0, 5000);
  EXPECT_FALSE(kernel.Starves(10, 5010));
  EXPECT_TRUE(kernel.Starves(10, 5011));
}

TEST_F(KernelTest, OneIsNeglectedOnlyIfACpuWhereItMayRunIdlesForAsLong) {
  const Gtid runs = kernel.Create({}, 1);
  kernel.Apply(Choose(0, runs), 2);
  kernel.Switch(0, 3);
  kernel.Create({.affinity = MaskOf(0)}, 10);
  EXPECT_TRUE(kernel.Starves(10, 100));
  EXPECT_FALSE(kernel.Neglected(10, 100));
  kernel.Block(0, 100);
  EXPECT_FALSE(kernel.Neglected(10, 110));
  EXPECT_TRUE(kernel.Neglected(10, 111));
  kernel.SetBusyElsewhere(0, true, 112);
  EXPECT_FALSE(kernel.Neglected(10, 200));
}

TEST(KernelLimitsTest, OneCpuAndOneTaskAreEnoughAndSixtyFourCpusAreAWord) {
  Kernel small({.cpus = 1, .max_tasks = 1});
  const Gtid first = small.Create({}, 1);
  EXPECT_EQ(small.Switch(0, 2), first);
  EXPECT_TRUE(small.Exit(first, 3));
  const Gtid second = small.Create({}, 4);
  EXPECT_GT(second, first);
  EXPECT_EQ(small.Find(first), nullptr);
  EXPECT_EQ(Violation(small), nullptr);

  Kernel large({.cpus = kMaxCpus, .max_tasks = 3});
  const Gtid last = large.Create({.affinity = uint64_t{1} << 63}, 1);
  EXPECT_EQ(large.Switch(62, 2), kNoTask);
  EXPECT_EQ(large.Switch(63, 2), last);
  EXPECT_EQ(Violation(large), nullptr);
}

}  // namespace
}  // namespace sluice::engine::sched
