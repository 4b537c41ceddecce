// SPDX-License-Identifier: BSD-3-Clause
//
// Tasks, CPUs, barriers, latches, discovery, and the host's own first come, first served. The
// cases follow those of ghOSt's api, channel and enclave tests in our own words.
#include "engine/sched/kernel.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace sluice::engine::sched {
namespace {

constexpr KernelLimits kLimits{.cpus = 4, .max_tasks = 8};

class KernelTest : public testing::Test {
 protected:
  KernelTest() { kernel.SetAgent(true, 0); }
  ~KernelTest() override { EXPECT_EQ(kernel.Violation(), nullptr); }

  uint32_t Barrier(Gtid gtid) const { return kernel.Find(gtid)->barrier; }
  Transaction Choose(CpuId cpu, Gtid gtid) const {
    return {.cpu = cpu, .gtid = gtid, .task_barrier = Barrier(gtid)};
  }
  Status Commit(const Transaction& transaction) {
    const Status status = kernel.Check(transaction.cpu, transaction);
    if (status == Status::kComplete) kernel.Apply(transaction, ++now);
    return status;
  }
  void Run(CpuId cpu, Gtid gtid) {
    ASSERT_EQ(Commit(Choose(cpu, gtid)), Status::kComplete);
    ASSERT_EQ(kernel.Switch(cpu, ++now), gtid);
  }
  std::vector<Message> Heard() {
    const std::vector<Message> heard(kernel.messages().begin(), kernel.messages().end());
    kernel.ClearMessages();
    return heard;
  }
  /// The only message since.
  Message Last() {
    const std::vector<Message> heard = Heard();
    EXPECT_EQ(heard.size(), 1u);
    return heard.empty() ? Message{} : heard.back();
  }

  Kernel kernel{kLimits};
  Nanoseconds now = 0;
};

// --- Tasks ----------------------------------------------------------------------------------

TEST_F(KernelTest, ANewTaskIsAnnouncedWithAllThatAPolicyWants) {
  const Gtid task = kernel.Create({.task_class = 3, .group = 9, .affinity = 0b0101}, 5);
  EXPECT_GT(task, 0);
  const Message message = Last();
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
  EXPECT_TRUE(Heard().empty());
}

TEST_F(KernelTest, TheTimeOnCpusIsToldAndAddsUp) {
  const Gtid task = kernel.Create({}, 10);
  kernel.Apply(Choose(1, task), 20);
  kernel.Switch(1, 100);
  kernel.ClearMessages();
  kernel.Block(1, 130);
  EXPECT_EQ(Last().runtime, 30u);
  kernel.Wake(task, true, 200);
  const Message woken = Last();
  EXPECT_EQ(woken.type, MessageType::kTaskWakeup);
  EXPECT_EQ(woken.flags, kDeferrable);
  EXPECT_EQ(woken.cpu, 1);
  kernel.Apply(Choose(1, task), 210);
  kernel.Switch(1, 300);
  kernel.ClearMessages();
  kernel.Yield(1, 345);
  const Message yielded = Last();
  EXPECT_EQ(yielded.type, MessageType::kTaskYield);
  EXPECT_EQ(yielded.runtime, 75u);
}

TEST_F(KernelTest, ATaskThatEndsOnACpuLeavesItAndTheCpuIsToSchedule) {
  const Gtid task = kernel.Create({}, ++now);
  Run(2, task);
  kernel.ClearMessages();
  EXPECT_TRUE(kernel.Exit(task, ++now));
  EXPECT_EQ(Last().type, MessageType::kTaskDead);
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

// --- Races of a decision with what it was made for --------------------------------------------

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

TEST_F(KernelTest, AnAffinityThatExcludesItsCpuTakesATaskOffIt) {
  const Gtid task = kernel.Create({}, ++now);
  Run(1, task);
  kernel.ClearMessages();
  EXPECT_TRUE(kernel.SetAffinity(task, MaskOf(0), ++now));
  const std::vector<Message> heard = Heard();
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
  const std::vector<Message> heard = Heard();
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
  const Message message = Last();
  EXPECT_EQ(message.type, MessageType::kTaskDeparted);
  EXPECT_EQ(message.flags, kWasCurrent);
  EXPECT_EQ(message.cpu, 0);
  EXPECT_EQ(Commit(Choose(0, task)), Status::kTargetStale);
  kernel.DepartureSeen(task);
  EXPECT_EQ(Commit(Choose(0, task)), Status::kInvalidTarget);
  EXPECT_TRUE(kernel.Exit(task, ++now));
  EXPECT_TRUE(Heard().empty());
  EXPECT_EQ(Commit(Choose(0, task)), Status::kTargetStale);
}

// --- Latches --------------------------------------------------------------------------------

TEST_F(KernelTest, ASecondDecisionEvictsTheLatchedTaskAndTellsThatItNeverRan) {
  const Gtid first = kernel.Create({}, ++now);
  const Gtid second = kernel.Create({}, ++now);
  EXPECT_EQ(Commit(Choose(3, first)), Status::kComplete);
  kernel.ClearMessages();
  EXPECT_EQ(Commit(Choose(3, second)), Status::kComplete);
  const Message message = Last();
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
  EXPECT_EQ(Last().flags, 0);
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
  const Message message = Last();
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
  EXPECT_EQ(Last().flags, kWasLatched);
  EXPECT_EQ(kernel.Switch(0, ++now), kNoTask);
}

// --- CPUs -----------------------------------------------------------------------------------

TEST_F(KernelTest, TheAgentThatAskedHearsOnceThatTheCpuIsNotIdleAnyMore) {
  EXPECT_EQ(kernel.Switch(0, ++now), kNoTask);
  EXPECT_EQ(Commit({.cpu = 0, .run_flags = kNeedCpuNotIdle, .gtid = kIdleTask}),
            Status::kComplete);
  EXPECT_TRUE(Heard().empty());
  kernel.SetBusyElsewhere(0, true, ++now);
  const std::vector<Message> heard = Heard();
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].type, MessageType::kCpuNotIdle);
  EXPECT_EQ(heard[0].cpu, 0);
  EXPECT_EQ(heard[1].type, MessageType::kCpuBusy);
  kernel.SetBusyElsewhere(0, false, ++now);
  EXPECT_EQ(Last().type, MessageType::kCpuAvailable);
  EXPECT_EQ(kernel.Switch(0, ++now), kNoTask);
  kernel.SetBusyElsewhere(0, true, ++now);
  EXPECT_EQ(Last().type, MessageType::kCpuBusy);
}

TEST_F(KernelTest, ACpuThatNobodyAskedAboutStopsIdlingInSilence) {
  kernel.Switch(0, ++now);
  const Gtid task = kernel.Create({}, ++now);
  Heard();
  Run(0, task);
  EXPECT_TRUE(Heard().empty());
}

TEST_F(KernelTest, ACpuTakenByTheHostGivesUpItsTaskWithABoostAndItsLatchedTask) {
  const Gtid running = kernel.Create({}, ++now);
  const Gtid latched = kernel.Create({}, ++now);
  Run(0, running);
  EXPECT_EQ(Commit(Choose(0, latched)), Status::kComplete);
  kernel.ClearMessages();
  kernel.SetBusyElsewhere(0, true, ++now);
  const std::vector<Message> heard = Heard();
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
  EXPECT_EQ(Last().type, MessageType::kCpuBusy);
  kernel.SetBusyElsewhere(0, false, ++now);
  EXPECT_TRUE(Heard().empty());
  kernel.SetOnline(0, true, ++now);
  EXPECT_EQ(Last().type, MessageType::kCpuAvailable);
}

TEST_F(KernelTest, ACpuThatGoesOfflineGivesUpItsTask) {
  const Gtid task = kernel.Create({}, ++now);
  Run(3, task);
  kernel.SetOnline(3, false, ++now);
  EXPECT_EQ(kernel.cpu(3).current, kNoTask);
  EXPECT_EQ(Commit(Choose(3, task)), Status::kCpuOffline);
  EXPECT_EQ(Commit(Choose(2, task)), Status::kComplete);
}

// --- Barriers -------------------------------------------------------------------------------

TEST_F(KernelTest, EveryMessageAboutATaskMovesItsBarrierByOneAndCarriesIt) {
  const Gtid task = kernel.Create({}, ++now);
  EXPECT_EQ(Last().seqnum, Barrier(task));
  uint32_t expected = Barrier(task);
  const auto one_more = [&](const char* what) {
    EXPECT_EQ(Barrier(task), ++expected) << what;
    EXPECT_EQ(Last().seqnum, expected) << what;
  };
  Run(0, task);
  EXPECT_EQ(Barrier(task), expected);
  EXPECT_TRUE(Heard().empty());
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

// --- Agents that come and go ------------------------------------------------------------------

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
  std::vector<Message> heard = Heard();
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
  // Neither who is blocked nor who has a place can be given one.
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
  EXPECT_EQ(small.Violation(), nullptr);

  Kernel large({.cpus = kMaxCpus, .max_tasks = 3});
  const Gtid last = large.Create({.affinity = uint64_t{1} << 63}, 1);
  EXPECT_EQ(large.Switch(62, 2), kNoTask);
  EXPECT_EQ(large.Switch(63, 2), last);
  EXPECT_EQ(large.Violation(), nullptr);
}

}  // namespace
}  // namespace sluice::engine::sched
