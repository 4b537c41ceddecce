// SPDX-License-Identifier: BSD-3-Clause
//
// A kernel with four CPUs and an agent, and access to the agent's messages.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "engine/sched/kernel.h"
#include "engine/sched/kernel_checker.h"

namespace sluice::engine::sched::test {

inline constexpr KernelLimits kLimits{.cpus = 4, .max_tasks = 8};

class KernelTest : public testing::Test {
 protected:
  KernelTest() { kernel.SetAgent(true, 0); }
  ~KernelTest() override { EXPECT_EQ(Violation(kernel), nullptr); }

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
  std::vector<Message> DrainMessages() {
    const std::vector<Message> heard(kernel.messages().begin(), kernel.messages().end());
    kernel.ClearMessages();
    return heard;
  }
  /// Returns the new message, of which there must be exactly one.
  Message OnlyMessage() {
    const std::vector<Message> heard = DrainMessages();
    EXPECT_EQ(heard.size(), 1u);
    return heard.empty() ? Message{} : heard.back();
  }

  Kernel kernel{kLimits};
  Nanoseconds now = 0;
};

}  // namespace sluice::engine::sched::test
