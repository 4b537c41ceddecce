// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the outcome of transactions, using a table of states and statuses. The order of the checks
// and the names of the codes are those of ghOSt's kernel (google/ghost-userspace, ABI 91).
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "direct_channel.h"
#include "engine/sched/host.h"
#include "engine/sched/kernel.h"
#include "engine/sched/kernel_checker.h"

namespace sluice::engine::sched {
namespace {

/// A kernel with four CPUs, an agent, one waiting task, and a transaction that assigns the task to
/// CPU 0.
struct Scene {
  Kernel kernel{{.cpus = 4, .max_tasks = 2}};
  Gtid task;
  Transaction transaction;
  CpuId cpu = 0;  ///< The CPU for which the transaction decides.
  bool local = false;
  bool stale = false;
  Nanoseconds now = 1;

  Scene() {
    kernel.SetAgent(true, now);
    task = kernel.Create({}, now);
    transaction = {.cpu = 0, .gtid = task};
  }
  void RunTaskOn(CpuId where) {
    kernel.Apply({.cpu = where, .gtid = task, .task_barrier = kernel.Find(task)->barrier}, ++now);
    ASSERT_EQ(kernel.Switch(where, ++now), task);
  }
  /// Sets the barriers to the current values, or to outdated values if the scene is stale.
  void SeeEverything() {
    if (const Task* found = kernel.Find(transaction.gtid)) {
      transaction.task_barrier = found->barrier - (stale ? 1 : 0);
    }
    transaction.agent_barrier = kernel.agent_barrier() - (stale ? 1 : 0);
  }
};

/// One error in a scene.
struct Flaw {
  std::string name;
  int check;  ///< Number of the check that finds the error, in ghOSt's order.
  Status status;
  std::function<void(Scene&)> make;
  /// Set if the error concerns the task's state; a task has only one state.
  bool of_target = false;
};

const std::vector<Flaw>& Flaws() {
  static const std::vector<Flaw> flaws = {
      {"a slot of no CPU", 1, Status::kInvalidCpu, [](Scene& s) { s.cpu = 4; }},
      {"another version", 2, Status::kUnsupportedVersion,
       [](Scene& s) { s.transaction.version = kAbiVersion + 1; }},
      {"made for another CPU", 3, Status::kInvalidCpu, [](Scene& s) { s.transaction.cpu = 1; }},
      {"an unknown run flag", 4, Status::kInvalidFlags,
       [](Scene& s) { s.transaction.run_flags = 0x8000; }},
      {"an unknown commit flag", 4, Status::kInvalidFlags,
       [](Scene& s) { s.transaction.commit_flags = 0x8000; }},
      {"a CPU that is offline", 5, Status::kCpuOffline,
       [](Scene& s) { s.kernel.SetOnline(0, false, ++s.now); }},
      {"a task that never was", 6, Status::kTargetNotFound,
       [](Scene& s) { s.transaction.gtid = s.task + 1; }, true},
      {"a name that is no task's", 6, Status::kInvalidTarget,
       [](Scene& s) { s.transaction.gtid = -3; }, true},
      {"a task that is long dead", 6, Status::kTargetNotFound,
       [](Scene& s) {
         s.kernel.Exit(s.task, ++s.now);
         for (int i = 0; i < 2; ++i) s.kernel.Exit(s.kernel.Create({}, s.now), s.now);
       },
       true},
      {"a departure that no agent heard of", 7, Status::kTargetStale,
       [](Scene& s) { s.kernel.Depart(s.task, ++s.now); }, true},
      {"a task that departed", 8, Status::kInvalidTarget,
       [](Scene& s) {
         s.kernel.Depart(s.task, ++s.now);
         s.kernel.DepartureSeen(s.task);
       },
       true},
      {"a dead task", 9, Status::kTargetStale, [](Scene& s) { s.kernel.Exit(s.task, ++s.now); },
       true},
      {"a message about the task that the agent has not seen", 10, Status::kTargetStale,
       [](Scene& s) { s.stale = true; }},
      {"a blocked task", 11, Status::kTargetNotRunnable,
       [](Scene& s) {
         s.RunTaskOn(2);
         s.kernel.Block(2, ++s.now);
       },
       true},
      {"a task on another CPU", 12, Status::kTargetOnCpu, [](Scene& s) { s.RunTaskOn(2); }, true},
      {"no agent", 13, Status::kNoAgent, [](Scene& s) { s.kernel.SetAgent(false, ++s.now); }},
      {"a task that must not run there", 14, Status::kNotPermitted,
       [](Scene& s) { s.kernel.SetAffinity(s.task, MaskOf(2), ++s.now); }},
      {"a task of a higher class on the CPU", 15, Status::kCpuUnavailable,
       [](Scene& s) { s.kernel.SetBusyElsewhere(0, true, ++s.now); }},
      {"an agent on that CPU that has not seen a message", 16, Status::kAgentStale,
       [](Scene& s) {
         s.local = true;
         --s.transaction.agent_barrier;
       }},
  };
  return flaws;
}

Status StatusOf(const std::vector<const Flaw*>& flaws) {
  Scene scene;
  bool local = false;
  for (const Flaw* flaw : flaws) {
    // The missed message must be the last event.
    if (flaw->check != 16) flaw->make(scene);
    local |= flaw->check == 16;
  }
  scene.SeeEverything();
  if (local) Flaws().back().make(scene);
  EXPECT_EQ(Violation(scene.kernel), nullptr);
  return scene.kernel.Check(scene.cpu, scene.transaction, scene.local);
}

TEST(Transaction, WithoutAFlawItHolds) { EXPECT_EQ(StatusOf({}), Status::kComplete); }

TEST(Transaction, EachFlawHasItsStatus) {
  for (const Flaw& flaw : Flaws()) EXPECT_EQ(StatusOf({&flaw}), flaw.status) << flaw.name;
}

TEST(Transaction, OfTwoFlawsTheOneThatIsCheckedFirstDecides) {
  int pairs = 0;
  std::set<int> neighbours;
  for (const Flaw& first : Flaws()) {
    for (const Flaw& second : Flaws()) {
      if (first.check >= second.check || (first.of_target && second.of_target)) continue;
      EXPECT_EQ(StatusOf({&first, &second}), first.status) << first.name << " and " << second.name;
      EXPECT_EQ(StatusOf({&second, &first}), first.status) << second.name << " and " << first.name;
      ++pairs;
      if (second.check == first.check + 1) neighbours.insert(first.check);
    }
  }
  EXPECT_GT(pairs, 100);
  // Errors 6 to 9 exclude one another, because a task has only one state.
  EXPECT_EQ(neighbours, (std::set{1, 2, 3, 4, 5, 9, 10, 12, 13, 14, 15}));
}

TEST(Transaction, AnAgentThatDecidesForAnotherCpuNeedNotHaveSeenEveryMessage) {
  Scene scene;
  scene.SeeEverything();
  scene.kernel.Create({}, 2);
  EXPECT_EQ(scene.kernel.Check(0, scene.transaction, false), Status::kComplete);
  EXPECT_EQ(scene.kernel.Check(0, scene.transaction, true), Status::kAgentStale);
}

TEST(Transaction, TheTaskMayStayOnItsVeryCpuIfTheAgentAllowsIt) {
  Scene scene;
  scene.RunTaskOn(0);
  scene.SeeEverything();
  EXPECT_EQ(scene.kernel.Check(0, scene.transaction), Status::kTargetOnCpu);
  scene.transaction.commit_flags = kAllowTaskOnCpu;
  EXPECT_EQ(scene.kernel.Check(0, scene.transaction), Status::kComplete);
  scene.transaction.cpu = 1;
  EXPECT_EQ(scene.kernel.Check(1, scene.transaction), Status::kTargetOnCpu);
}

TEST(Transaction, ATaskThatWaitsForAnotherCpuCountsAsOnIt) {
  Scene scene;
  scene.SeeEverything();
  scene.kernel.Apply(scene.transaction, 2);
  scene.transaction.cpu = 3;
  EXPECT_EQ(scene.kernel.Check(3, scene.transaction), Status::kTargetOnCpu);
}

TEST(Transaction, OneThatMustNotPreemptIsRefusedOnlyWhileSomebodyElseIsOnTheCpu) {
  Scene scene;
  scene.RunTaskOn(0);
  const Gtid other = scene.kernel.Create({}, 9);
  scene.transaction = {.cpu = 0, .run_flags = kDoNotPreempt, .gtid = other};
  scene.SeeEverything();
  EXPECT_EQ(scene.kernel.Check(0, scene.transaction), Status::kCpuUnavailable);
  scene.kernel.Block(0, 10);
  EXPECT_EQ(scene.kernel.Check(0, scene.transaction), Status::kComplete);
}

TEST(Transaction, SpecialTargetsNeedNoTaskButAnAgentAndTheCpu) {
  for (const Gtid gtid : {kNoTask, kAgentTask, kIdleTask}) {
    Scene scene;
    scene.transaction.gtid = gtid;
    EXPECT_EQ(scene.kernel.Check(0, scene.transaction), Status::kComplete) << gtid;
    scene.kernel.SetBusyElsewhere(0, true, 2);
    EXPECT_EQ(scene.kernel.Check(0, scene.transaction), Status::kCpuUnavailable) << gtid;
    scene.kernel.SetAgent(false, 3);
    EXPECT_EQ(scene.kernel.Check(0, scene.transaction), Status::kNoAgent) << gtid;
    scene.kernel.SetOnline(0, false, 4);
    EXPECT_EQ(scene.kernel.Check(0, scene.transaction), Status::kCpuOffline) << gtid;
  }
}

TEST(Transaction, AGroupMustNameItsOwnCpuAndOnlyCpusThatThereAreAndCannotBePrestaged) {
  const auto status = [](CpuMask group, uint16_t commit_flags) {
    Scene scene;
    scene.transaction.sync_group = group;
    scene.transaction.commit_flags = commit_flags;
    scene.SeeEverything();
    return scene.kernel.Check(0, scene.transaction);
  };
  EXPECT_EQ(status(0b0011, 0), Status::kComplete);
  EXPECT_EQ(status(0b0010, 0), Status::kInvalidFlags);
  EXPECT_EQ(status(0b1'0001, 0), Status::kInvalidFlags);
  EXPECT_EQ(status(0b0011, kCommitAtSchedule), Status::kInvalidFlags);
}

// --- Groups ---------------------------------------------------------------------------------

class Group : public testing::Test {
 protected:
  Group() {
    kernel.SetAgent(true, 0);
    for (CpuId cpu = 0; cpu < 3; ++cpu) {
      tasks[cpu] = kernel.Create({}, 1);
      transactions[cpu] = {.cpu = cpu, .gtid = tasks[cpu], .task_barrier = 1};
    }
  }
  std::vector<Status> Statuses() const { return {statuses.begin(), statuses.end()}; }

  Kernel kernel{{.cpus = 4, .max_tasks = 8}};
  std::array<Gtid, 3> tasks;
  std::array<Transaction, 3> transactions;
  std::array<Status, 3> statuses{};
};

TEST_F(Group, WithoutAFlawAllOfItHolds) {
  EXPECT_TRUE(kernel.ApplyGroup(transactions, statuses, 2));
  EXPECT_EQ(Statuses(), (std::vector(3, Status::kComplete)));
  for (CpuId cpu = 0; cpu < 3; ++cpu) EXPECT_EQ(kernel.Switch(cpu, 3), tasks[cpu]);
  EXPECT_EQ(Violation(kernel), nullptr);
}

TEST_F(Group, OneFlawPoisonsTheRestAndNothingIsEnforced) {
  for (size_t bad = 0; bad < 3; ++bad) {
    auto changed = transactions;
    changed[bad].task_barrier = 0;
    EXPECT_FALSE(kernel.ApplyGroup(changed, statuses, 2));
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(statuses[i], i == bad ? Status::kTargetStale : Status::kPoisoned);
      EXPECT_EQ(kernel.cpu(static_cast<CpuId>(i)).latched, kNoTask);
    }
  }
}

TEST_F(Group, ATaskCannotBeInItTwice) {
  transactions[2].gtid = tasks[0];
  EXPECT_FALSE(kernel.ApplyGroup(transactions, statuses, 2));
  EXPECT_EQ(Statuses(), (std::vector{Status::kPoisoned, Status::kPoisoned, Status::kTargetOnCpu}));
  EXPECT_EQ(Violation(kernel), nullptr);
}

TEST_F(Group, OfTwoFlawsTheFirstMembersIsNamed) {
  transactions[1].cpu = 7;
  transactions[2].task_barrier = 0;
  EXPECT_FALSE(kernel.ApplyGroup(transactions, statuses, 2));
  EXPECT_EQ(Statuses(), (std::vector{Status::kPoisoned, Status::kInvalidCpu, Status::kPoisoned}));
}

// --- All codes, through the host --------------------------------------------------------------

TEST(Transaction, EveryCodeOfGhostsReachesTheAgentThatCausedIt) {
  std::set<Status> seen;
  const auto commit = [&](Scene& scene, bool recall = false) {
    DirectChannel channel;
    SchedHost<DirectChannel> host(scene.kernel, channel, {});
    channel.Commit(0, scene.transaction);
    if (recall) channel.Recall(0);
    host.Look(0, ++scene.now);
    ASSERT_TRUE(channel.Ended(0));
    EXPECT_EQ(host.counters().statuses[static_cast<uint32_t>(*channel.Ended(0)) -
                                       static_cast<uint32_t>(Status::kComplete)],
              1u);
    EXPECT_EQ(channel.outcome(0).gtid, scene.transaction.gtid);
    seen.insert(*channel.Ended(0));
  };
  for (const Flaw& flaw : Flaws()) {
    // A NIC's agents do not run on the CPUs for which they decide.
    if (flaw.check == 1 || flaw.check == 16) continue;
    Scene scene;
    flaw.make(scene);
    scene.SeeEverything();
    commit(scene);
    EXPECT_EQ(scene.kernel.cpu(0).latched, kNoTask) << flaw.name;
    EXPECT_TRUE(seen.contains(flaw.status)) << flaw.name;
  }
  {
    Scene scene;
    scene.SeeEverything();
    commit(scene);
    EXPECT_TRUE(seen.contains(Status::kComplete));
  }
  {
    Scene scene;
    scene.SeeEverything();
    commit(scene, true);
    EXPECT_TRUE(seen.contains(Status::kAborted));
  }
  {
    Scene scene;
    scene.SeeEverything();
    scene.transaction.sync_group = 0b11;
    DirectChannel channel;
    SchedHost<DirectChannel> host(scene.kernel, channel, {});
    channel.Commit(0, scene.transaction);
    channel.Commit(1, {.cpu = 1, .gtid = 77, .sync_group = 0b11});
    host.Look(0, ++scene.now);
    seen.insert(*channel.Ended(0));
    EXPECT_TRUE(seen.contains(Status::kPoisoned));
  }
  seen.insert(StatusOf({&Flaws().back()}));
  EXPECT_EQ(seen.size(), static_cast<size_t>(kStatuses));
  EXPECT_EQ(*seen.begin(), Status::kComplete);
  EXPECT_EQ(*seen.rbegin(), Status::kPoisoned);
}

}  // namespace
}  // namespace sluice::engine::sched
