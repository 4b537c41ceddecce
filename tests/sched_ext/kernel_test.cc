// SPDX-License-Identifier: BSD-3-Clause
//
// The BPF scheduler on a kernel with sched_ext (scheduler_test.py runs this test in a guest): each
// decision is checked against the thread's state, and no thread needs an agent.
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sched_ext/thread_choice.h"
#include "sched_ext/thread_kernel.h"

namespace sluice::sched_ext {
namespace {

using engine::sched::DecodeMessage;
using engine::sched::Gtid;
using engine::sched::MessageType;
using engine::sched::Status;

constexpr CpuId kCpus = 2;
constexpr Nanoseconds kNever = 60'000'000'000;

std::string SchedulerState() {
  std::ifstream file("/sys/kernel/sched_ext/state");
  std::string state;
  std::getline(file, state);
  return state;
}

// A process that answers each byte with a byte, or spins after an 's'.
class Echo {
 public:
  Echo() {
    if (pipe(to_.data()) != 0 || pipe(from_.data()) != 0) std::abort();
    child_ = fork();
    if (child_ != 0) return;
    for (char byte; read(to_[0], &byte, 1) == 1;) {
      if (write(from_[1], &byte, 1) != 1) break;
      while (byte == 's') {
      }
    }
    _exit(0);
  }
  ~Echo() {
    End();
    for (const int fd : {to_[0], to_[1], from_[0], from_[1]}) close(fd);
  }

  ThreadId id() const { return static_cast<ThreadId>(child_); }
  void Send(char byte) const { ASSERT_EQ(write(to_[1], &byte, 1), 1); }
  bool HasAnswer() const {
    pollfd answer{.fd = from_[0], .events = POLLIN, .revents = 0};
    return poll(&answer, 1, 0) == 1;
  }
  char Receive() const {
    char byte = 0;
    return read(from_[0], &byte, 1) == 1 ? byte : '\0';
  }
  void End() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  std::array<int, 2> to_{}, from_{};
  pid_t child_ = 0;
};

class SchedulerTest : public testing::Test {
 protected:
  void Start(Nanoseconds fallback) {
    std::string error;
    kernel_ = StartThreadKernel({.cpus = kCpus, .fallback = fallback}, &error);
    ASSERT_NE(kernel_, nullptr) << error;
    ASSERT_EQ(MoveIntoClass(std::array{echo_.id()}), 1);
  }
  void TearDown() override {
    kernel_.reset();
    EXPECT_EQ(SchedulerState(), "disabled");
  }

  Message State() {
    const auto found = kernel_->Describe(echo_.id());
    return found ? found->created : Message{};
  }
  // Waits until the thread waits for a CPU, and returns its state.
  Message AwaitRunnable() {
    while ((State().flags & engine::sched::kRunnable) == 0) usleep(1000);
    return State();
  }
  void AwaitBlocked() {
    while (!IsBlocked()) usleep(1000);
  }
  Status Decide(CpuId cpu, const Transaction& decision) {
    return kernel_->Decide(cpu, decision).outcome.status;
  }
  // Decides for `cpu` until `over`: a busy machine may preempt the thread at any time.
  template <typename Over>
  void DecideUntil(CpuId cpu, Over over) {
    while (!over()) {
      const Message state = State();
      if ((state.flags & engine::sched::kRunnable) != 0) {
        Decide(cpu, {.cpu = cpu, .gtid = state.gtid, .task_barrier = state.seqnum});
      }
      usleep(100);
    }
  }
  bool IsBlocked() {
    const auto found = kernel_->Describe(echo_.id());
    return found && !found->place && (found->created.flags & engine::sched::kRunnable) == 0;
  }
  bool Received(MessageType type) {
    kernel_->Receive(events_);
    return std::ranges::any_of(
        events_, [&](const offload::Item& item) { return DecodeMessage(item).type == type; });
  }

  Echo echo_;
  std::unique_ptr<ThreadKernel> kernel_;
  std::vector<offload::Item> events_;
};

TEST_F(SchedulerTest, RefusesEachWrongDecisionAndEnforcesTheRightOne) {
  Start(kNever);
  kernel_->Attach();
  AwaitBlocked();
  const Message blocked = State();
  EXPECT_EQ(Decide(0, {.gtid = blocked.gtid, .task_barrier = blocked.seqnum}),
            Status::kTargetNotRunnable);
  echo_.Send('a');
  const Message waits = AwaitRunnable();
  EXPECT_TRUE(Received(MessageType::kTaskNew));
  EXPECT_TRUE(Received(MessageType::kTaskWakeup));
  const Transaction right{.cpu = 1, .gtid = waits.gtid, .task_barrier = waits.seqnum};

  Transaction wrong = right;
  wrong.version = 2;
  EXPECT_EQ(Decide(1, wrong), Status::kUnsupportedVersion);
  wrong = right;
  EXPECT_EQ(Decide(0, wrong), Status::kInvalidCpu);
  wrong.cpu = kCpus;
  EXPECT_EQ(Decide(kCpus, wrong), Status::kInvalidCpu);
  wrong = right;
  wrong.commit_flags = engine::sched::kCommitAtSchedule;
  EXPECT_EQ(Decide(1, wrong), Status::kInvalidFlags);
  wrong = right;
  wrong.sync_group = 2;
  EXPECT_EQ(Decide(1, wrong), Status::kInvalidFlags);
  for (const Gtid special : {engine::sched::kNoTask, engine::sched::kAgentTask}) {
    wrong = right;
    wrong.gtid = special;
    EXPECT_EQ(Decide(1, wrong), Status::kInvalidTarget);
  }
  // A thread of this process, and a former thread with the same id.
  wrong.gtid = right.gtid - echo_.id() + static_cast<Gtid>(getpid());
  EXPECT_EQ(Decide(1, wrong), Status::kTargetNotFound);
  wrong.gtid = right.gtid + (Gtid{1} << kThreadIdBits);
  EXPECT_EQ(Decide(1, wrong), Status::kTargetNotFound);
  for (const uint32_t barrier : {blocked.seqnum, waits.seqnum + 1}) {
    wrong = right;
    wrong.task_barrier = barrier;
    EXPECT_EQ(Decide(1, wrong), Status::kTargetStale);
  }

  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  ASSERT_EQ(sched_setaffinity(static_cast<pid_t>(echo_.id()), sizeof(one), &one), 0);
  EXPECT_EQ(Decide(1, right), Status::kTargetStale);
  const Message bound = AwaitRunnable();
  EXPECT_TRUE(Received(MessageType::kTaskAffinityChanged));
  EXPECT_EQ(Decide(1, {.cpu = 1, .gtid = bound.gtid, .task_barrier = bound.seqnum}),
            Status::kNotPermitted);

  const Transaction enforced{.cpu = 0, .gtid = bound.gtid, .task_barrier = bound.seqnum};
  const Verdict verdict = kernel_->Decide(0, enforced);
  EXPECT_EQ(verdict.outcome.status, Status::kComplete);
  EXPECT_EQ(verdict.outcome.task_barrier, bound.seqnum);
  EXPECT_GT(verdict.age, 0u);
  DecideUntil(0, [&] { return echo_.HasAnswer(); });  // It runs only by decisions.
  EXPECT_EQ(echo_.Receive(), 'a');
  DecideUntil(0, [&] { return IsBlocked(); });
  EXPECT_EQ(Decide(0, enforced), Status::kTargetStale);
  const ThreadCounters counters = kernel_->counters();
  EXPECT_EQ(counters.fallbacks + counters.local_choices + counters.abandoned, 0u);
}

TEST_F(SchedulerTest, RunsAThreadByDecisionsAlone) {
  Start(kNever);
  kernel_->Attach();
  for (int i = 0; i < 100; ++i) {
    const auto cpu = static_cast<CpuId>(i % kCpus);
    echo_.Send('a');
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(static_cast<pid_t>(echo_.id()), sizeof(one), &one), 0);
    DecideUntil(cpu, [&] { return echo_.HasAnswer(); });
    ASSERT_EQ(echo_.Receive(), 'a');
  }
  const ThreadCounters counters = kernel_->counters();
  EXPECT_EQ(counters.fallbacks + counters.local_choices + counters.abandoned, 0u);
}

TEST_F(SchedulerTest, RefusesAThreadOnACpuAndOneThatEnded) {
  Start(kNever);
  AwaitBlocked();
  echo_.Send('s');  // Without an agent, the kernel chooses.
  EXPECT_EQ(echo_.Receive(), 's');
  EXPECT_GT(kernel_->counters().local_choices, 0u);
  kernel_->Attach();
  const auto found = kernel_->Describe(echo_.id());
  ASSERT_TRUE(found && found->place);
  EXPECT_EQ(Decide(0, {.gtid = found->created.gtid, .task_barrier = found->created.seqnum}),
            Status::kTargetOnCpu);
  const Gtid gtid = found->created.gtid;
  echo_.End();
  while (!Received(MessageType::kTaskDead)) usleep(1000);
  EXPECT_EQ(Decide(0, {.gtid = gtid, .task_barrier = 1}), Status::kTargetNotFound);
  EXPECT_EQ(kernel_->counters().threads, 0u);
}

TEST_F(SchedulerTest, SchedulesThreadsItselfIfTheAgentIsSilent) {
  Start(20'000'000);
  kernel_->Attach();
  AwaitBlocked();
  usleep(100'000);
  echo_.Send('a');
  EXPECT_EQ(echo_.Receive(), 'a');
  EXPECT_FALSE(kernel_->attached());
  EXPECT_EQ(kernel_->counters().abandoned, 1u);
  EXPECT_EQ(kernel_->end_reason(), "");
  // Without an agent, a thread does not wait for the time-out.
  echo_.Send('b');
  EXPECT_EQ(echo_.Receive(), 'b');
}

TEST_F(SchedulerTest, SchedulesThreadsItselfInADryRun) {
  std::string error;
  kernel_ = StartThreadKernel({.cpus = kCpus, .fallback = kNever, .dry_run = true}, &error);
  ASSERT_NE(kernel_, nullptr) << error;
  kernel_->Attach();
  ASSERT_EQ(MoveIntoClass(std::array{echo_.id()}), 1);
  echo_.Send('a');
  EXPECT_EQ(echo_.Receive(), 'a');
  EXPECT_TRUE(kernel_->attached());
}

TEST_F(SchedulerTest, ReturnsThreadsToTheKernel) {
  Start(kNever);
  EXPECT_EQ(kernel_->counters().threads, 1u);
  EXPECT_EQ(MoveOutOfClass(kernel_->Threads()), 1);
  EXPECT_EQ(sched_getscheduler(static_cast<pid_t>(echo_.id())), SCHED_OTHER);
  EXPECT_TRUE(Received(MessageType::kTaskDeparted));
  EXPECT_EQ(kernel_->counters().threads, 0u);
  std::string error;
  EXPECT_EQ(StartThreadKernel({.cpus = kCpus}, &error), nullptr);
  EXPECT_NE(error.find("another scheduler"), std::string::npos) << error;
  kernel_.reset();
  echo_.Send('a');
  EXPECT_EQ(echo_.Receive(), 'a');
}

}  // namespace
}  // namespace sluice::sched_ext
