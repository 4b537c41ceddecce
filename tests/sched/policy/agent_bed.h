// SPDX-License-Identifier: BSD-3-Clause
//
// An agent on a channel. The test acts as the agent's peer.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "engine/sched/agent.h"
#include "engine/sched/policies/all.h"
#include "scripted_channel.h"

namespace sluice::engine::sched::test {

template <typename P>
class Bed {
 public:
  explicit Bed(P policy, AgentOptions options) : agent(std::move(policy), channel, options) {}

  void SendMessage(MessageType type, Gtid gtid, uint32_t seqnum, CpuId cpu = 0, uint8_t flags = 0,
                   uint8_t task_class = 0, CpuMask affinity = ~CpuMask{0}) {
    channel.SendMessage({.type = type,
                         .cpu = cpu,
                         .seqnum = seqnum,
                         .gtid = gtid,
                         .flags = flags,
                         .task_class = task_class,
                         .affinity = affinity});
  }
  void New(Gtid gtid, uint32_t seqnum = 1, uint8_t task_class = 0) {
    SendMessage(MessageType::kTaskNew, gtid, seqnum, 0, kRunnable, task_class);
  }
  void Step(Nanoseconds passed = 100) {
    now += passed;
    agent.Step(now);
    ASSERT_EQ(agent.Violation(), nullptr);
  }
  /// Starts one task on each CPU from 0 to `last`: task 1 on CPU 0, and so on.
  void RunOnEach(CpuId last) {
    for (CpuId cpu = 0; cpu <= last; ++cpu) New(cpu + 1);
    Step();
    for (CpuId cpu = 0; cpu <= last; ++cpu) channel.Enforce(cpu);
    Step();
    for (CpuId cpu = 0; cpu <= last; ++cpu) ASSERT_EQ(Runs(cpu), cpu + 1);
  }
  Gtid Runs(CpuId cpu) const {
    const AgentTask* const task = agent.running(cpu).task;
    return task == nullptr ? kNoTask : task->gtid;
  }
  uint64_t Refusals(Status status) const {
    return agent.counters()
        .refused[static_cast<uint32_t>(status) - static_cast<uint32_t>(Status::kComplete)];
  }

  Nanoseconds now = 0;
  ScriptedChannel channel;
  Agent<P, ScriptedChannel> agent;
};

using FifoBed = Bed<FifoCentral>;
using ShinjukuBed = Bed<Shinjuku>;

}  // namespace sluice::engine::sched::test
