// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that an agent allocates all of its memory at construction, and does not allocate any for
// later tasks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <string>

#include "engine/sched/agent.h"
#include "engine/sched/policies/all.h"

namespace {
uint64_t g_allocations = 0;
}  // namespace

// Not inlined, because gcc would otherwise see only one of malloc and free, and would report a
// mismatch.
[[gnu::noinline]] void* operator new(size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(std::max<size_t>(size, 1))) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace sluice::engine::sched {
namespace {

constexpr CpuId kCpus = 4;

/// A host that enforces every decision. The test sends one message at a time.
class ObligingHost {
 public:
  bool Receive(offload::Item& out) {
    if (!waiting_) return false;
    waiting_ = false;
    out = message_;
    return true;
  }
  bool PollLoss() { return false; }
  void RequestRestart() {}
  bool CanCommit(offload::Slot slot) const { return !decided_[slot]; }
  void Commit(offload::Slot slot, const offload::Item& item, offload::Urgency urgency) {
    decided_[slot] = urgency == offload::Urgency::kInterrupt;
    staged_[slot] = !decided_[slot];
    transactions_[slot] = DecodeTransaction(item);
  }
  bool Recall(offload::Slot) { return false; }
  bool PollOutcome(offload::Slot slot, offload::Item& out, offload::Decided& how) {
    if (!decided_[slot]) return false;
    decided_[slot] = false;
    out = Encode(Outcome{.task_barrier = transactions_[slot].task_barrier});
    how = offload::Decided::kEnforced;
    return true;
  }
  uint64_t faults() const { return 0; }

  void SendMessage(const Message& message) {
    message_ = Encode(message);
    waiting_ = true;
  }
  /// Simulates that the CPU reschedules: enforces the CPU's prestaged decision.
  void Schedule(CpuId cpu) { decided_[cpu] = decided_[cpu] || std::exchange(staged_[cpu], false); }

 private:
  offload::Item message_;
  bool waiting_ = false;
  std::array<bool, kCpus> decided_{};
  std::array<bool, kCpus> staged_{};
  std::array<Transaction, kCpus> transactions_;
};

class AgentMemory : public testing::TestWithParam<std::string_view> {};

TEST_P(AgentMemory, IsTakenOnlyWhenTheAgentIsMade) {
  ASSERT_TRUE(VisitPolicy(GetParam(), {.cpus = kCpus}, [](auto policy) {
    ObligingHost host;
    const uint64_t before = g_allocations;
    Agent agent(std::move(policy), host,
                AgentOptions{.cpus = kCpus, .max_tasks = 500, .prestage = true});
    EXPECT_GT(g_allocations, before) << "allocations are counted";
    Nanoseconds now = 0;
    Gtid newest = 0;
    uint32_t seqnum = 0;
    const uint64_t made = g_allocations;
    for (int step = 0; step < 100'000; ++step) {
      const auto cpu = static_cast<CpuId>(step / 2 % kCpus);
      const AgentTask* const runs = agent.running(cpu).task;
      Message message{.cpu = cpu, .seqnum = ++seqnum, .affinity = ~CpuMask{0}};
      if (step % 2 == 0 || runs == nullptr) {
        message.type = MessageType::kTaskNew;
        message.gtid = ++newest;
        message.flags = kRunnable;
        message.task_class = static_cast<uint8_t>(newest % 5);
        message.group = static_cast<uint16_t>(newest % 300);
      } else {
        message.type = MessageType::kTaskDead;
        message.gtid = runs->gtid;
        host.Schedule(cpu);
      }
      host.SendMessage(message);
      agent.Step(now += 1'000);
    }
    EXPECT_EQ(g_allocations, made);
    EXPECT_EQ(agent.Violation(), nullptr);
    EXPECT_GT(agent.counters().enforced, 10'000u);
  }));
}

INSTANTIATE_TEST_SUITE_P(All, AgentMemory, testing::ValuesIn(kPolicyNames),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sluice::engine::sched
