// SPDX-License-Identifier: BSD-3-Clause
//
// Tests steering to the shortest queue. Checks the policy's contract, and compares its queue
// lengths with those of random steering and of a single queue, whose means are known from queueing
// theory.
#include "engine/sched/policies/join_shortest_queue.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <queue>
#include <random>
#include <vector>

namespace sluice::engine::sched {
namespace {

static_assert(Policy<JoinShortestQueue> && SharesTasks<JoinShortestQueue> &&
              WatchesCpus<JoinShortestQueue>);

class Tasks {
 public:
  AgentTask& New(uint8_t task_class = 0, CpuMask affinity = ~CpuMask{0}) {
    AgentTask& task = tasks_.emplace_back();
    task.gtid = static_cast<Gtid>(tasks_.size());
    task.task_class = task_class;
    task.affinity = affinity;
    return task;
  }

 private:
  std::deque<AgentTask> tasks_;
};

Gtid NextOf(JoinShortestQueue& policy, CpuId cpu) {
  const AgentTask* const task = policy.Next(cpu, 0);
  return task == nullptr ? kNoTask : task->gtid;
}

TEST(JoinShortestQueue, IdleCpusGetOneTaskEachBeforeAnyGetsTwo) {
  JoinShortestQueue policy(4);
  Tasks tasks;
  for (int i = 0; i < 8; ++i) {
    policy.Enqueue(tasks.New(), Place::kBack, 0);
    for (CpuId cpu = 0; cpu < 4; ++cpu) {
      EXPECT_LE(policy.waiting(cpu), static_cast<uint32_t>(i / 4 + 1));
    }
  }
}

TEST(JoinShortestQueue, EquallyShortQueuesAreJoinedInTurnFromTheFirstCpuOn) {
  for (const CpuId cpus : {1, 3, 4}) {
    JoinShortestQueue policy(cpus);
    Tasks tasks;
    for (uint32_t i = 0; i < 3u * cpus; ++i) {
      policy.Enqueue(tasks.New(), Place::kBack, 0);
      EXPECT_EQ(policy.waiting(static_cast<CpuId>(i % cpus)), i / cpus + 1) << i;
    }
  }
}

TEST(JoinShortestQueue, WhoIsOnTheCpuCountsAsOneWhoWaits) {
  JoinShortestQueue policy(2);
  Tasks tasks;
  AgentTask& running = tasks.New();
  policy.Entered(running, 0, 0);
  policy.Enqueue(tasks.New(), Place::kBack, 0);
  EXPECT_EQ(policy.waiting(0), 0u);
  EXPECT_EQ(policy.waiting(1), 1u);
  policy.Left(running, 0, 0);
  policy.Enqueue(tasks.New(), Place::kBack, 0);
  EXPECT_EQ(policy.waiting(0), 1u);
}

TEST(JoinShortestQueue, ATaskJoinsOnlyQueuesOfCpusThatItMayRunOn) {
  JoinShortestQueue policy(4);
  Tasks tasks;
  for (int i = 0; i < 6; ++i) policy.Enqueue(tasks.New(0, MaskOf(2) | MaskOf(3)), Place::kBack, 0);
  EXPECT_EQ(policy.waiting(0) + policy.waiting(1), 0u);
  EXPECT_EQ(policy.waiting(2), 3u);
  EXPECT_EQ(policy.waiting(3), 3u);
  EXPECT_EQ(NextOf(policy, 0), kNoTask) << "nor may it be stolen for another";
}

TEST(JoinShortestQueue, TheMostUrgentClassGoesFirstAndInAClassTheOldest) {
  JoinShortestQueue policy(1);
  Tasks tasks;
  for (const uint8_t task_class : {2, 0, 1, 2, 0}) {
    policy.Enqueue(tasks.New(task_class), Place::kBack, 0);
  }
  for (const Gtid gtid : {2, 5, 3, 1, 4}) EXPECT_EQ(NextOf(policy, 0), gtid);
  EXPECT_EQ(NextOf(policy, 0), kNoTask);
}

TEST(JoinShortestQueue, WhoLostItsPlaceGoesToTheFrontOfItsClass) {
  JoinShortestQueue policy(1);
  Tasks tasks;
  policy.Enqueue(tasks.New(1), Place::kBack, 0);
  policy.Enqueue(tasks.New(1), Place::kFront, 0);
  policy.Enqueue(tasks.New(0), Place::kBack, 0);
  for (const Gtid gtid : {3, 2, 1}) EXPECT_EQ(NextOf(policy, 0), gtid);
}

TEST(JoinShortestQueue, ACpuThatWouldIdleTakesFromTheLongestQueueAndABusyOneDoesNot) {
  JoinShortestQueue policy(3);
  Tasks tasks;
  policy.Enqueue(tasks.New(0, MaskOf(0) | MaskOf(2)), Place::kBack, 0);
  policy.Enqueue(tasks.New(0, MaskOf(1)), Place::kBack, 0);
  AgentTask& hog = tasks.New();
  policy.Entered(hog, 2, 0);
  policy.Enqueue(tasks.New(0, MaskOf(0)), Place::kBack, 0);
  EXPECT_EQ(NextOf(policy, 2), kNoTask) << "CPU 2 runs something";
  policy.Left(hog, 2, 0);
  EXPECT_EQ(NextOf(policy, 2), 1);
}

TEST(JoinShortestQueue, WithoutStealingAnEmptyQueueMeansIdling) {
  JoinShortestQueue policy(2, /*steals=*/false);
  Tasks tasks;
  policy.Enqueue(tasks.New(0, MaskOf(0)), Place::kBack, 0);
  AgentTask& second = tasks.New(0, MaskOf(0));
  policy.Enqueue(second, Place::kBack, 0);
  second.affinity = ~CpuMask{0};
  EXPECT_EQ(NextOf(policy, 1), kNoTask);
}

TEST(JoinShortestQueue, AnUrgentTaskSupersedesOneThatWasChosenBefore) {
  JoinShortestQueue policy(1);
  Tasks tasks;
  policy.Enqueue(tasks.New(1), Place::kBack, 0);
  AgentTask* const staged = policy.Next(0, 0);
  policy.Enqueue(tasks.New(1), Place::kBack, 0);
  EXPECT_FALSE(policy.Supersedes(*staged, 0, 0));
  policy.Enqueue(tasks.New(0), Place::kBack, 0);
  EXPECT_TRUE(policy.Supersedes(*staged, 0, 0));
}

TEST(JoinShortestQueue, ARemovedTaskIsNotNamedAndTheOthersKeepTheirOrder) {
  JoinShortestQueue policy(1);
  Tasks tasks;
  policy.Enqueue(tasks.New(), Place::kBack, 0);
  AgentTask& middle = tasks.New();
  policy.Enqueue(middle, Place::kBack, 0);
  policy.Enqueue(tasks.New(), Place::kBack, 0);
  policy.Remove(middle);
  EXPECT_FALSE(middle.queued);
  EXPECT_EQ(policy.waiting(0), 2u);
  EXPECT_EQ(NextOf(policy, 0), 1);
  EXPECT_EQ(NextOf(policy, 0), 3);
}

// --- Comparison with other kinds of steering, with exponential times.

/// A policy that steers at random, with the same queues.
class AtRandom {
 public:
  explicit AtRandom(CpuId cpus) : queues_(cpus) {}
  void Enqueue(AgentTask& task, Place place, Nanoseconds) {
    queues_[random_() % queues_.size()].Push(task, place);
  }
  AgentTask* Next(CpuId cpu, Nanoseconds) { return queues_[cpu].PopFor(cpu); }

 private:
  std::vector<TaskQueue> queues_;
  std::mt19937_64 random_{7};
};

struct Means {
  double waiting = 0;  ///< Number of tasks in all queues, averaged over time.
  uint64_t served = 0;
};

/// Simulates discrete events exactly: arrivals at the rate `load` · cpus, and service times with
/// mean 1. Arrivals and service times use the same seed for every policy.
template <typename P>
Means Simulate(P policy, CpuId cpus, double load, uint64_t arrivals) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> gap(load * cpus), service(1);
  using Event = std::pair<double, CpuId>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> ends;
  std::vector<AgentTask*> on(cpus);
  std::deque<AgentTask> tasks;
  std::vector<double> work;
  std::vector<AgentTask*> free;
  double now = 0, area = 0, next = gap(random);
  uint64_t waiting = 0, arrived = 0, served = 0;
  const auto start = [&](CpuId cpu) {
    AgentTask* const task = policy.Next(cpu, 0);
    if (task == nullptr) return;
    --waiting;
    on[cpu] = task;
    if constexpr (WatchesCpus<P>) policy.Entered(*task, cpu, 0);
    ends.push({now + work[static_cast<size_t>(task->gtid)], cpu});
  };
  while (arrived != arrivals || !ends.empty()) {
    const bool arrival = arrived != arrivals && (ends.empty() || next < ends.top().first);
    const double then = arrival ? next : ends.top().first;
    area += static_cast<double>(waiting) * (then - now);
    now = then;
    if (arrival) {
      ++arrived;
      next = now + gap(random);
      if (free.empty()) {
        tasks.emplace_back().gtid = static_cast<Gtid>(work.size());
        tasks.back().affinity = ~CpuMask{0};
        work.push_back(0);
        free.push_back(&tasks.back());
      }
      AgentTask* const task = free.back();
      free.pop_back();
      work[static_cast<size_t>(task->gtid)] = service(random);
      policy.Enqueue(*task, Place::kBack, 0);
      ++waiting;
    } else {
      const CpuId cpu = ends.top().second;
      ends.pop();
      if constexpr (WatchesCpus<P>) policy.Left(*on[cpu], cpu, 0);
      free.push_back(on[cpu]);
      on[cpu] = nullptr;
      ++served;
    }
    for (CpuId cpu = 0; cpu < cpus; ++cpu) {
      if (on[cpu] == nullptr) start(cpu);
    }
  }
  return {area / now, served};
}

/// Returns the mean number of waiting tasks in an M/M/c queue, by Erlang's C formula.
double ErlangWaiting(uint32_t servers, double load) {
  const double offered = load * servers;
  double term = 1, sum = 1;
  for (uint32_t k = 1; k < servers; ++k) sum += term *= offered / k;
  const double all_busy = term * offered / servers / (1 - load);
  return all_busy / (sum + all_busy) * load / (1 - load);
}

TEST(JoinShortestQueue, ItsQueuesLieBetweenThoseOfRandomSteeringAndOfOneQueue) {
  constexpr CpuId kCpus = 8;
  constexpr uint64_t kArrivals = 400'000;
  for (const double load : {0.5, 0.7, 0.9}) {
    const Means random = Simulate(AtRandom(kCpus), kCpus, load, kArrivals);
    const Means shortest = Simulate(JoinShortestQueue(kCpus, false), kCpus, load, kArrivals);
    const Means stealing = Simulate(JoinShortestQueue(kCpus, true), kCpus, load, kArrivals);
    EXPECT_EQ(random.served, kArrivals);
    EXPECT_EQ(shortest.served, kArrivals);
    EXPECT_EQ(stealing.served, kArrivals);
    // Validates the simulation: with random steering, each queue is M/M/1; with constant stealing,
    // the system is M/M/c.
    const double mm1 = kCpus * load * load / (1 - load);
    const double mmc = ErlangWaiting(kCpus, load);
    EXPECT_NEAR(random.waiting / mm1, 1, 0.1) << load;
    EXPECT_NEAR(stealing.waiting / mmc, 1, 0.1) << load;
    // Good steering must achieve most of the gain of a single queue.
    EXPECT_LT(shortest.waiting, random.waiting / 3) << load;
    EXPECT_GT(shortest.waiting, mmc) << load;
  }
}

}  // namespace
}  // namespace sluice::engine::sched
