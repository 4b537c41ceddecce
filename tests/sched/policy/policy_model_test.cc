// SPDX-License-Identifier: BSD-3-Clause
//
// Compares policies with simple models: one list of all waiting tasks, which is searched linearly.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "engine/sched/policies/fifo_central.h"
#include "engine/sched/policies/multi_queue.h"
#include "engine/sched/policies/shinjuku.h"

namespace sluice::engine::sched {
namespace {

using List = std::vector<AgentTask*>;

bool May(const AgentTask& task, CpuId cpu) { return (task.affinity >> cpu & 1) != 0; }

/// The waiting tasks, in the order of a single queue. Derived models choose one of them.
class Model {
 public:
  void Enqueue(AgentTask& task, Place place) {
    waiting_.insert(place == Place::kFront ? waiting_.begin() : waiting_.end(), &task);
  }
  void Remove(AgentTask& task) { std::erase(waiting_, &task); }

 protected:
  /// Returns the first task that is better than all others, or null if no task may run on `cpu`.
  AgentTask* Best(CpuId cpu, auto better) const {
    AgentTask* best = nullptr;
    for (AgentTask* task : waiting_) {
      if (May(*task, cpu) && (best == nullptr || better(*task, *best))) best = task;
    }
    return best;
  }
  List waiting_;
};

class FifoModel : public Model {
 public:
  AgentTask* First(CpuId cpu, Nanoseconds) const {
    return Best(cpu, [](const AgentTask&, const AgentTask&) { return false; });
  }
  bool Preempts(const Running&, Nanoseconds) const { return false; }
  bool Supersedes(const AgentTask&, CpuId, Nanoseconds) const { return false; }
};

class ShinjukuModel : public Model {
 public:
  AgentTask* First(CpuId cpu, Nanoseconds) const {
    return Best(cpu, [](const AgentTask& a, const AgentTask& b) {
      return std::min<int>(a.task_class, 7) < std::min<int>(b.task_class, 7);
    });
  }
  bool Preempts(const Running& running, Nanoseconds now) const {
    const AgentTask* const first = First(running.cpu, now);
    if (first == nullptr) return false;
    const int waits = std::min<int>(first->task_class, 7);
    const int runs = std::min<int>(running.task->task_class, 7);
    const bool over = now - running.since >= Shinjuku::kSlice;
    const bool yields = running.task->deferrable && !first->deferrable;
    return waits < runs || (waits == runs && (over || yields));
  }
  bool Supersedes(const AgentTask& staged, CpuId cpu, Nanoseconds now) const {
    const AgentTask* const first = First(cpu, now);
    return first != nullptr &&
           std::min<int>(first->task_class, 7) < std::min<int>(staged.task_class, 7);
  }
};

class MultiQueueModel : public Model {
 public:
  AgentTask* First(CpuId cpu, Nanoseconds now) const {
    // Finds the first task of each class. Returns the one that has waited for the largest share of
    // its target.
    std::array<AgentTask*, 8> heads{};
    for (AgentTask* task : waiting_) {
      AgentTask*& head = heads[std::min<int>(task->task_class, 7)];
      if (head == nullptr && May(*task, cpu)) head = task;
    }
    AgentTask* best = nullptr;
    for (AgentTask* head : heads) {
      if (head != nullptr && (best == nullptr || Part(*head, now) > Part(*best, now))) best = head;
    }
    return best;
  }
  bool Preempts(const Running& running, Nanoseconds now) const {
    return now - running.since >= 5'000 && First(running.cpu, now) != nullptr;
  }
  bool Supersedes(const AgentTask& staged, CpuId cpu, Nanoseconds now) const {
    const AgentTask* const first = First(cpu, now);
    return first != nullptr && Part(*first, now) > Part(staged, now);
  }

 private:
  /// Returns the share of the target for which the task has waited, as an exact integer. This is
  /// possible because the default targets are powers of ten, and the last one is a multiple of all
  /// others.
  static unsigned __int128 Part(const AgentTask& task, Nanoseconds now) {
    unsigned __int128 multiple = 10'000'000;
    for (int i = 0; i < std::min<int>(task.task_class, 7); ++i) multiple /= 10;
    return multiple * (now - task.runnable_since);
  }
};

template <typename P, typename M>
void Compare(P policy, M model, uint64_t seed) {
  constexpr CpuId kCpus = 8;
  std::mt19937_64 random(seed);
  std::vector<AgentTask> tasks(40);
  std::vector<bool> waits(tasks.size());
  const auto renew = [&](AgentTask& task) {
    task.task_class = static_cast<uint8_t>(random() % 10);
    task.deferrable = random() % 2 == 0;
    task.affinity = random() % 2 == 0 ? ~CpuMask{0} : random() % 256;
  };
  Nanoseconds now = 0;
  uint64_t named = 0, preempted = 0, superseded = 0;
  for (int step = 0; step < 100'000; ++step) {
    now += random() % 3'000;
    const size_t index = random() % tasks.size();
    AgentTask& task = tasks[index];
    const auto cpu = static_cast<CpuId>(random() % kCpus);
    if (!waits[index]) {
      renew(task);
      task.runnable_since = now - random() % (now + 1);
      const auto place = static_cast<Place>(random() % 3);
      policy.Enqueue(task, place, now);
      model.Enqueue(task, place);
      waits[index] = true;
    } else if (random() % 4 == 0) {
      policy.Remove(task);
      model.Remove(task);
      waits[index] = false;
    }
    AgentTask other;
    renew(other);
    other.runnable_since = now - random() % (now + 1);
    const Nanoseconds runs_for = random() % std::min<Nanoseconds>(now + 1, 50'000);
    const Running running{.cpu = cpu, .task = &other, .since = now - runs_for};
    const bool preempts = policy.Preempts(running, now);
    ASSERT_EQ(preempts, model.Preempts(running, now)) << "step " << step;
    const bool supersedes = policy.Supersedes(other, cpu, now);
    ASSERT_EQ(supersedes, model.Supersedes(other, cpu, now)) << "step " << step;
    preempted += preempts;
    superseded += supersedes;
    if (random() % 2 == 0) {
      AgentTask* const expected = model.First(cpu, now);
      ASSERT_EQ(policy.Next(cpu, now), expected) << "step " << step;
      if (expected != nullptr) {
        model.Remove(*expected);
        waits[static_cast<size_t>(expected - tasks.data())] = false;
        ++named;
      }
    }
    ASSERT_EQ(task.queued, waits[index]);
  }
  EXPECT_GT(named, 1000u);
  EXPECT_EQ(preempted > 1000, PreemptsForOne<P>) << "the comparison saw both answers";
  EXPECT_EQ(superseded > 1000, PreemptsForOne<P>);
}

TEST(PolicyModel, TheCentralFifoIsAList) { Compare(FifoCentral(), FifoModel(), 1); }
TEST(PolicyModel, ShinjukuIsAListAndAClass) { Compare(Shinjuku(), ShinjukuModel(), 2); }
TEST(PolicyModel, MultiQueueIsAListAndATarget) { Compare(MultiQueue(), MultiQueueModel(), 3); }

}  // namespace
}  // namespace sluice::engine::sched
