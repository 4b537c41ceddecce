// SPDX-License-Identifier: BSD-3-Clause
//
// Tests an agent that has lost messages, an agent whose host has lost its state, and invalid
// messages.
#include <gtest/gtest.h>

#include <climits>
#include <random>
#include <string>
#include <string_view>

#include "agent_bed.h"
#include "engine/sched/agent.h"

namespace sluice::engine::sched {
namespace {

using test::Bed;
using test::FifoBed;

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
  // Only the host knows the outcomes of pending decisions. The decision for CPU 2 was enforced.
  ASSERT_EQ(bed.channel.Decision(2), 3);
  bed.channel.Enforce(2);
  bed.Step();
  // Discovery reports that task 1 runs, task 2 is blocked, task 3 got its CPU, and tasks 4 and 5
  // wait.
  bed.SendMessage(MessageType::kTaskNew, 1, 1, 0, kRunnable);
  bed.SendMessage(MessageType::kTaskOnCpu, 1, 1, 0);
  bed.SendMessage(MessageType::kTaskNew, 2, 2, 1);
  bed.SendMessage(MessageType::kTaskNew, 3, 1, 2, kRunnable);
  bed.SendMessage(MessageType::kTaskOnCpu, 3, 1, 2);
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
  bed.SendMessage(MessageType::kTaskOnCpu, 1, 1, 0);
  // The message about the end of task 1 was lost.
  bed.SendMessage(MessageType::kDiscovery, 0, 0);
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
  bed.SendMessage(MessageType::kTaskOnCpu, 1, 1, 0);
  bed.New(2);
  bed.SendMessage(MessageType::kTaskOnCpu, 2, 1, 0, kWasLatched);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 1);
  bed.SendMessage(MessageType::kTaskPreempt, 1, 2, 0);
  bed.Step();
  EXPECT_EQ(bed.Runs(0), 2);
}

// --- Hostile input --------------------------------------------------------------------------

TEST(AgentHostile, WhatMakesNoSenseIsCountedAndChangesNothing) {
  FifoBed bed(FifoCentral(), {.cpus = 2, .max_tasks = 1});
  bed.RunOnEach(0);
  uint64_t expected = 0;
  const auto nonsense = [&](const Message& message) {
    bed.channel.SendMessage(message);
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
  bed.SendMessage(MessageType::kNop, 0, 0);
  bed.SendMessage(MessageType::kCpuTick, 0, 0, 1);
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

// Most messages get a valid type, a plausible sequence number and a plausible CPU, so that many
// messages are valid.
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
          message.type =
              static_cast<MessageType>(random() % 4 == 0 ? 128 + random() % 7 : 64 + random() % 12);
          message.seqnum = static_cast<uint32_t>(step / 8 + random() % 4);
          message.cpu = static_cast<CpuId>(random() % (kCpus + 1));
        }
        bed.channel.SendMessage(message);
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
