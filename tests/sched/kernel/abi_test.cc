// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the layout of messages word by word, and tests that messages from a hostile peer are
// harmless.
#include "engine/sched/abi.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

#include "engine/sched/kernel.h"
#include "engine/sched/kernel_checker.h"

namespace sluice::engine::sched {
namespace {

using offload::Item;

TEST(Abi, TheNumbersAreThoseOfGhost) {
  EXPECT_EQ(static_cast<int>(MessageType::kTaskDead), 64);
  EXPECT_EQ(static_cast<int>(MessageType::kTaskBlocked), 65);
  EXPECT_EQ(static_cast<int>(MessageType::kTaskWakeup), 66);
  EXPECT_EQ(static_cast<int>(MessageType::kTaskNew), 67);
  EXPECT_EQ(static_cast<int>(MessageType::kTaskPreempt), 68);
  EXPECT_EQ(static_cast<int>(MessageType::kTaskYield), 69);
  EXPECT_EQ(static_cast<int>(MessageType::kTaskDeparted), 70);
  EXPECT_EQ(static_cast<int>(MessageType::kTaskSwitchto), 71);
  EXPECT_EQ(static_cast<int>(MessageType::kTaskAffinityChanged), 72);
  EXPECT_EQ(static_cast<int>(MessageType::kTaskOnCpu), 73);
  EXPECT_EQ(static_cast<int>(MessageType::kTaskPriorityChanged), 74);
  EXPECT_EQ(static_cast<int>(MessageType::kTaskLatchFailure), 75);
  EXPECT_EQ(static_cast<int>(MessageType::kCpuTick), 128);
  EXPECT_EQ(static_cast<int>(MessageType::kCpuAgentWakeup), 134);
  EXPECT_EQ(static_cast<int32_t>(Status::kComplete), INT32_MIN);
  EXPECT_EQ(static_cast<int32_t>(Status::kTargetStale), INT32_MIN + 3);
  EXPECT_EQ(static_cast<int32_t>(Status::kPoisoned), INT32_MIN + 15);
}

TEST(Abi, AMessageIsThisInBytes) {
  const Message message{.type = MessageType::kTaskPreempt,
                        .cpu = 0x0102,
                        .seqnum = 0x03040506,
                        .gtid = 0x1112131415161718,
                        .runtime = 0x2122232425262728,
                        .cpu_seqnum = 0x31323334,
                        .flags = kWasLatched,
                        .task_class = 0x41,
                        .group = 0x4243,
                        .affinity = 0x5152535455565758};
  const Item item{{0x0304050601020044, 0x1112131415161718, 0x2122232425262728, 0x4243410231323334,
                   0x5152535455565758}};
  EXPECT_EQ(Encode(message), item);
  EXPECT_EQ(DecodeMessage(item), message);
}

TEST(Abi, WhatAMessageDoesNotSayIsZero) {
  const Item item = Encode(Message{.type = MessageType::kCpuTick, .cpu = 3});
  EXPECT_EQ(item.word[0], 3u << 16 | 128u);
  EXPECT_EQ(item.word[2], 0u) << "runtime";
  EXPECT_EQ(item.word[3], 0u) << "CPU barrier, flags, class, group";
  EXPECT_EQ(item.word[4], 0u) << "affinity";
}

TEST(Abi, ATransactionIsThisInBytes) {
  const Transaction transaction{.version = 1,
                                .cpu = 0x0203,
                                .run_flags = 0x0405,
                                .commit_flags = 0x0607,
                                .gtid = kIdleTask,
                                .task_barrier = 0x11121314,
                                .agent_barrier = 0x21222324,
                                .sync_group = 0x3132333435363738};
  const Item item{
      {0x0607040502030001, 0xfffffffffffffffe, 0x2122232411121314, 0x3132333435363738, 0}};
  EXPECT_EQ(Encode(transaction), item);
  EXPECT_EQ(DecodeTransaction(item), transaction);
}

TEST(Abi, AnOutcomeIsThisInBytes) {
  const Outcome outcome{.status = Status::kTargetStale,
                        .task_barrier = 0x01020304,
                        .task_flags = kStatusInUse | kStatusRunnable,
                        .cpu_seqnum = 0x11121314,
                        .gtid = kAgentTask,
                        .current = 0x2122232425262728,
                        .time = 0x3132333435363738};
  const Item item{{0x0102030480000003, 0x1112131400000005, 0xffffffffffffffff, 0x2122232425262728,
                   0x3132333435363738}};
  EXPECT_EQ(Encode(outcome), item);
  EXPECT_EQ(DecodeOutcome(item), outcome);
}

TEST(Abi, WhateverBytesArriveAsATransactionTheKernelStaysWhole) {
  constexpr CpuId kCpus = 3;
  Kernel kernel({.cpus = kCpus, .max_tasks = 5});
  kernel.SetAgent(true, 0);
  std::mt19937_64 random(7);
  for (int i = 0; i < 5; ++i) kernel.Create({}, 0);
  for (Nanoseconds now = 1; now < 200'000; ++now) {
    Item item;
    for (uint64_t& word : item.word) word = random();
    // Pure noise would always fail the first check.
    if (random() % 4 != 0) item.word[0] &= 0x0003'0003'0003'0000 | (random() & 0xffff);
    if (random() % 4 != 0) item.word[0] = (item.word[0] & ~uint64_t{0xffff}) | kAbiVersion;
    if (random() % 2 != 0) item.word[1] = random() % 32 - 4;
    if (random() % 2 != 0) item.word[2] %= 4;
    if (random() % 2 != 0) item.word[3] = 0;
    const auto cpu = static_cast<CpuId>(random() % (kCpus + 2));
    const Transaction transaction = DecodeTransaction(item);
    const Status status = kernel.Check(cpu, transaction, random() % 2 == 0);
    kernel.Describe(cpu, transaction, status, now);
    if (status == Status::kComplete) kernel.Apply(transaction, now);
    if (cpu < kCpus && random() % 4 == 0) {
      kernel.Preempt(cpu, false, now);
      kernel.Switch(cpu, now);
    }
    kernel.ClearMessages();
    if (const char* violation = Violation(kernel)) FAIL() << violation << " at step " << now;
  }
}

TEST(Abi, AStatusWordOfAllOnesIsNoStatus) {
  // The value that a dead link returns must not equal any outcome.
  const auto word = static_cast<int32_t>(0xffffffff);
  EXPECT_GT(word, static_cast<int32_t>(Status::kPoisoned));
}

}  // namespace
}  // namespace sluice::engine::sched
