// SPDX-License-Identifier: BSD-3-Clause
//
// Other agent tests check the agent's records after every step. This test verifies that the check
// finds every inconsistency. Each case falsifies one entry.
#include "engine/sched/agent_view.h"

#include <gtest/gtest.h>

#include <functional>
#include <string_view>

#include "engine/sched/policies/fifo_central.h"

namespace sluice::engine::sched {
namespace {

/// Task 1 runs on CPU 0, task 2 is latched to it, task 3 is queued, and task 4 is blocked. CPU 1 is
/// idle.
class AgentRecords {
 public:
  AgentRecords() {
    for (Gtid gtid = 1; gtid <= 4; ++gtid) {
      Deliver({.type = MessageType::kTaskNew,
               .seqnum = 1,
               .gtid = gtid,
               .flags = gtid == 4 ? uint8_t{0} : kRunnable,
               .affinity = 0b11});
    }
    Deliver({.type = MessageType::kTaskOnCpu, .seqnum = 2, .gtid = 1});
    Deliver({.type = MessageType::kTaskOnCpu, .seqnum = 2, .gtid = 2, .flags = kWasLatched});
  }
  KnownTask& task(Gtid gtid) { return *view.Find(gtid); }
  CpuView& cpu(CpuId cpu) { return const_cast<CpuView&>(view.cpu(cpu)); }

  AgentView<FifoCentral> view{FifoCentral(), 2, 64};

 private:
  void Deliver(const Message& message) { EXPECT_TRUE(view.Hear(message, 1)); }
};

TEST(AgentView, HearsOfItsCpusAndOfNoOthers) {
  AgentRecords known;
  EXPECT_TRUE(known.view.Hear({.type = MessageType::kCpuBusy, .cpu = 1}, 2));
  EXPECT_TRUE(known.cpu(1).busy);
  EXPECT_TRUE(known.view.Hear({.type = MessageType::kCpuAvailable, .cpu = 1}, 3));
  EXPECT_FALSE(known.cpu(1).busy);
  EXPECT_TRUE(known.view.Hear({.type = MessageType::kCpuTick, .cpu = 0}, 4));
  EXPECT_FALSE(known.view.Hear({.type = MessageType::kCpuBusy, .cpu = 2}, 5));
}

TEST(AgentView, ItsCheckFindsEveryFalseEntry) {
  AgentRecords right;
  ASSERT_EQ(right.task(2).where, Whereabouts::kLatched);
  ASSERT_EQ(right.view.Violation(), nullptr);
  const struct {
    std::string_view rule;
    std::function<void(AgentRecords&)> falsify;
  } kCases[] = {
      {"a task can be found by its name", [](AgentRecords& k) { k.task(4).gtid = 9; }},
      {"the policy has a task exactly when the task is queued",
       [](AgentRecords& k) { k.task(3).queued = false; }},
      {"the policy has a task exactly when the task is queued",
       [](AgentRecords& k) { k.task(4).queued = true; }},
      {"the CPU of a latched task lists that task", [](AgentRecords& k) { k.task(2).at = 1; }},
      {"a task on a CPU is the running task there", [](AgentRecords& k) { k.task(1).at = 1; }},
      {"a CPU without a running task has no latched or leaving task",
       [](AgentRecords& k) { k.cpu(1).leaving = true; }},
      {"every task that runs or is latched on a CPU is known",
       [](AgentRecords& k) { k.cpu(1).running.task = &k.task(3); }},
  };
  for (const auto& [rule, falsify] : kCases) {
    AgentRecords falsified;
    falsify(falsified);
    const char* const violation = falsified.view.Violation();
    ASSERT_NE(violation, nullptr) << rule;
    EXPECT_EQ(violation, rule);
  }
}

}  // namespace
}  // namespace sluice::engine::sched
