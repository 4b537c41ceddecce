// SPDX-License-Identifier: BSD-3-Clause
//
// The host's end of an agent for threads, with a model of the kernel and each policy: every thread
// gets a CPU as often as it wants one, although the kernel loses events and gives up agents, and
// agents are replaced.
#include "sched_ext/thread_host.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "agent_of.h"
#include "bar/shm_window.h"
#include "offload/layout.h"
#include "offload/wave_host.h"
#include "offload/wave_nic.h"

namespace sluice::sched_ext {
namespace {

using engine::sched::Gtid;
using engine::sched::MessageType;
using engine::sched::Status;

constexpr CpuId kCpus = 2;
constexpr ThreadId kThreads = 8;

// A kernel whose threads block after each run. A decision runs its thread at once.
class ModelKernel final : public ThreadKernel {
 public:
  ModelKernel() {
    for (ThreadId id = 1; id <= kThreads; ++id) threads_[id];
  }

  int event_fd() const override { return -1; }
  void Receive(std::vector<offload::Item>& events) override {
    events.insert(events.end(), events_.begin(), events_.end());
    events_.clear();
  }
  Verdict Decide(CpuId cpu, const Transaction& decision) override {
    Verdict verdict{.outcome = {.status = Rule(decision), .gtid = decision.gtid}, .age = 1};
    if (const auto found = threads_.find(ThreadOf(decision.gtid)); found != threads_.end()) {
      verdict.outcome.task_barrier = found->second.barrier;
      verdict.outcome.task_flags = FlagsOf(found->second);
    }
    if (verdict.outcome.status == Status::kComplete) Run(cpu, ThreadOf(decision.gtid));
    return verdict;
  }
  Outcome Recall(CpuId, const Transaction& decision) override {
    return {.status = Status::kAborted, .gtid = decision.gtid};
  }
  void Attach() override { attached_ = true; }
  bool attached() const override { return attached_; }
  std::vector<ThreadId> Threads() const override {
    std::vector<ThreadId> ids;
    for (const auto& [id, thread] : threads_) ids.push_back(id);
    return ids;
  }
  std::optional<Description> Describe(ThreadId id) const override {
    const Thread& thread = threads_.at(id);
    return Description{.created = MessageOf(MessageType::kTaskNew, id, 0,
                                            thread.waits ? engine::sched::kRunnable : uint8_t{0}),
                       .place = {}};
  }
  ThreadCounters counters() const override { return {.events_lost = lost_}; }
  std::string end_reason() const override { return ""; }

  bool Waits(ThreadId id) const { return threads_.at(id).waits; }
  void Wake(ThreadId id) {
    threads_.at(id).waits = true;
    Send(MessageType::kTaskWakeup, id, 0);
  }
  // Loses all events that the host has not received.
  void LoseEvents() {
    lost_ += events_.size();
    events_.clear();
  }
  void GiveUp() { attached_ = false; }

 private:
  struct Thread {
    uint32_t barrier = 1;
    bool waits = false;
  };

  static uint32_t FlagsOf(const Thread& thread) {
    return engine::sched::kStatusInUse | (thread.waits ? engine::sched::kStatusRunnable : 0u);
  }
  Message MessageOf(MessageType type, ThreadId id, CpuId cpu, uint8_t flags) const {
    return {.type = type,
            .cpu = cpu,
            .seqnum = threads_.at(id).barrier,
            .gtid = static_cast<Gtid>(id),
            .flags = flags,
            .affinity = 3};
  }
  void Send(MessageType type, ThreadId id, CpuId cpu) {
    ++threads_.at(id).barrier;
    events_.push_back(Encode(MessageOf(type, id, cpu, 0)));
  }
  Status Rule(const Transaction& decision) const {
    const auto found = threads_.find(ThreadOf(decision.gtid));
    if (found == threads_.end()) return Status::kTargetNotFound;
    if (found->second.barrier != decision.task_barrier) return Status::kTargetStale;
    if (!found->second.waits) return Status::kTargetNotRunnable;
    return attached_ ? Status::kComplete : Status::kNoAgent;
  }
  void Run(CpuId cpu, ThreadId id) {
    threads_.at(id).waits = false;
    Send(MessageType::kTaskBlocked, id, cpu);
  }

  std::map<ThreadId, Thread> threads_;
  std::vector<offload::Item> events_;
  uint64_t lost_ = 0;
  bool attached_ = false;
};

class ThreadHostTest : public testing::TestWithParam<std::string_view> {
 protected:
  using Nic = offload::WaveNic<bar::ShmWindow>;

  void Replace() {
    agent_ = sched::MakeAgent<Nic>(GetParam(), {.cpus = kCpus}, nic_window_, kLayout,
                                   ++incarnation_, {.cpus = kCpus, .max_tasks = kThreads});
  }
  // Runs both ends until no thread waits. Returns false if this takes too long.
  bool Drain() {
    for (int i = 0; i < 10'000; ++i) {
      now_ += 100'000;
      host_.Step();
      agent_->Step(now_);
      bool waits = false;
      for (ThreadId id = 1; id <= kThreads; ++id) waits = waits || kernel_.Waits(id);
      if (!waits) return true;
    }
    return false;
  }

  static constexpr offload::WaveLayout kLayout{.slots = kCpus, .queue_depth = 16};
  bar::ShmWindow host_window_ =
      bar::ShmWindow::Create(kLayout.LinesNeeded(), bar::WindowSide::kHost);
  bar::ShmWindow nic_window_ = host_window_.Peer();
  offload::WaveHost<bar::ShmWindow> channel_{host_window_, kLayout, 1};
  ModelKernel kernel_;
  ThreadHost<offload::WaveHost<bar::ShmWindow>> host_{kernel_, channel_, kCpus, nullptr};
  std::unique_ptr<sched::AgentSide> agent_;
  uint32_t incarnation_ = 0;
  Nanoseconds now_ = 1;
};

TEST_P(ThreadHostTest, EveryThreadRunsInSpiteOfLossesAndOtherAgents) {
  Replace();
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    for (ThreadId id = 1; id <= kThreads; ++id) {
      if (random() % 2 == 0) kernel_.Wake(id);
    }
    switch (random() % 10) {
      case 0:
        kernel_.LoseEvents();
        break;
      case 1:
        kernel_.GiveUp();
        break;
      case 2:
        Replace();
        break;
      default:
        break;
    }
    ASSERT_TRUE(Drain()) << "round " << round;
  }
  const ThreadHostCounters& counters = host_.counters();
  EXPECT_GT(counters.discoveries, 300u);
  EXPECT_GT(counters.statuses[0], 4000u);
  EXPECT_EQ(counters.age.count(), counters.statuses[0]);
  EXPECT_EQ(channel_.faults(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Policies, ThreadHostTest, testing::ValuesIn(engine::sched::kPolicyNames),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sluice::sched_ext
