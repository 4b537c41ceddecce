// SPDX-License-Identifier: BSD-3-Clause
//
// Tests agents and a host over both channels on a window of shared memory, in steps of virtual
// time. Tasks and CPUs can change at any moment. Agents are replaced, freeze, and lose events. The
// oracle is the host's check of its own state. Every task must end.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "bar/shm_window.h"
#include "engine/sched/agent.h"
#include "engine/sched/host.h"
#include "engine/sched/kernel.h"
#include "engine/sched/kernel_checker.h"
#include "engine/sched/policies/all.h"
#include "offload/swap_host.h"
#include "offload/swap_nic.h"
#include "offload/wave_host.h"
#include "offload/wave_nic.h"

namespace sluice::engine::sched {
namespace {

using bar::ShmWindow;

constexpr CpuId kCpus = 4;
constexpr Nanoseconds kMillisecond = 1'000'000;

struct Wave {
  using Layout = offload::WaveLayout;
  using HostEnd = offload::WaveHost<ShmWindow>;
  using NicEnd = offload::WaveNic<ShmWindow>;
  static Layout MakeLayout(uint32_t depth) { return {.slots = kCpus, .queue_depth = depth}; }
};
template <bool asks>
struct Swap {
  using Layout = offload::SwapLayout;
  using HostEnd = offload::SwapHost<ShmWindow>;
  using NicEnd = offload::SwapNic<ShmWindow>;
  static Layout MakeLayout(uint32_t depth) {
    return {.slots = kCpus, .queue_depth = depth, .asks = asks};
  }
};

struct SystemOptions {
  uint32_t queue_depth = 64;
  bool prestage = true;
  Nanoseconds slice = 20'000;
  uint64_t seed = 1;
};

/// A host, its CPUs, and an agent.
template <typename Channel, typename P>
class System {
 public:
  System(const P& policy, const SystemOptions& options)
      : policy_(policy),
        options_(options),
        random(options.seed),
        layout_(Channel::MakeLayout(options.queue_depth)),
        host_window_(ShmWindow::Create(layout_.LinesNeeded(), bar::WindowSide::kHost)),
        nic_window_(host_window_.Peer()),
        host_end_(host_window_, layout_, 1),
        host(kernel, host_end_, {.watchdog = kMillisecond}) {
    ReplaceAgent();
    while (!kernel.agent()) {
      StepAgent();
      host.Tick(now);
    }
  }

  void ReplaceAgent() {
    agent.reset();
    nic_end_.emplace(nic_window_, layout_, ++incarnation_);
    agent.emplace(
        policy_, *nic_end_,
        AgentOptions{
            .cpus = kCpus, .max_tasks = 256, .prestage = options_.prestage, .retry = 50'000});
  }

  /// Makes a random task or CPU event happen.
  void Happen() {
    const uint64_t what = random() % 100;
    const auto cpu = static_cast<CpuId>(random() % kCpus);
    const Gtid gtid = tasks_.empty() ? kNoTask : tasks_[random() % tasks_.size()];
    if (what < 20) {
      Create();
    } else if (what < 60) {
      kernel.Wake(gtid, random() % 2 == 0, now);
    } else if (what < 64) {
      kernel.Exit(gtid, now);
    } else if (what < 65) {
      if (kernel.Depart(gtid, now) && random() % 2 == 0) kernel.DepartureSeen(gtid);
    } else if (what < 70) {
      kernel.SetAffinity(gtid, 1 + random() % 15, now);
    } else if (what < 72) {
      kernel.SetOnline(cpu, random() % 2 == 0, now);
    } else if (what < 74) {
      kernel.SetBusyElsewhere(cpu, random() % 2 == 0, now);
    } else if (kernel.cpu(cpu).current != kNoTask) {
      constexpr Reason kReasons[] = {Reason::kBlock, Reason::kBlock, Reason::kYield, Reason::kExit,
                                     Reason::kPreempt};
      Schedule(cpu, kReasons[random() % std::size(kReasons)]);
    }
    host.Forward();
  }

  void Create() {
    const Gtid gtid =
        kernel.Create({.task_class = static_cast<uint8_t>(random() % 4),
                       .group = static_cast<uint16_t>(random() % 3),
                       .affinity = random() % 2 == 0 ? ~CpuMask{0} : 1 + random() % 15,
                       .runnable = random() % 2 == 0},
                      now);
    if (gtid != kNoTask) tasks_.push_back(gtid);
  }

  void Schedule(CpuId cpu, Reason reason) {
    host.BeginSwitch(cpu, reason, now);
    if (random() % 2 == 0) StepAgent();
    host.EndSwitch(cpu, now);
  }

  void StepAgent() {
    if (frozen) return;
    agent->Step(now);
    ASSERT_EQ(agent->Violation(), nullptr);
  }

  /// Lets the CPUs look for decisions and schedule.
  void Look() {
    now += random() % 3'000;
    for (CpuId cpu = 0; cpu < kCpus; ++cpu) {
      if (random() % 2 == 0 || !host.Look(cpu, now)) continue;
      Schedule(cpu, kernel.cpu(cpu).current == kNoTask ? Reason::kIdle : Reason::kPreempt);
    }
    if (random() % 4 == 0) host.Tick(now);
    ASSERT_EQ(Violation(kernel), nullptr);
  }

  void Play(int steps) {
    for (int step = 0; step < steps; ++step) {
      // If there are more than 60 tasks, forgets those that have ended and halves the rate of
      // events.
      if (tasks_.size() > 60) std::erase_if(tasks_, [&](Gtid gtid) { return Gone(gtid); });
      if (tasks_.size() < 60 || random() % 2 == 0) Happen();
      if (random() % 3 != 0) StepAgent();
      Look();
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  bool Gone(Gtid gtid) const {
    const Task* const task = kernel.Find(gtid);
    return task == nullptr || task->state >= TaskState::kDeparted;
  }

  /// Brings all CPUs online, and runs both ends for 3000 steps without further events.
  void Settle() {
    frozen = false;
    for (CpuId cpu = 0; cpu < kCpus; ++cpu) {
      kernel.SetOnline(cpu, true, now);
      kernel.SetBusyElsewhere(cpu, false, now);
    }
    for (int step = 0; step < 3'000; ++step) {
      StepAgent();
      Look();
    }
  }

  /// Wakes every task and runs all tasks to their ends, in at most 100,000 steps. Returns the
  /// number of tasks that have not ended.
  uint32_t Finish() {
    Settle();
    for (const Gtid gtid : tasks_) kernel.Wake(gtid, false, now);
    for (int step = 0; step < 100'000 && kernel.live_tasks() > 0; ++step) {
      for (CpuId cpu = 0; cpu < kCpus; ++cpu) {
        if (kernel.cpu(cpu).current != kNoTask && random() % 4 == 0) Schedule(cpu, Reason::kExit);
      }
      StepAgent();
      Look();
    }
    return kernel.live_tasks();
  }

  const P policy_;
  const SystemOptions options_;
  std::mt19937_64 random;
  Nanoseconds now = 1;
  bool frozen = false;
  Kernel kernel{{.cpus = kCpus, .max_tasks = 128}};

 private:
  typename Channel::Layout layout_;
  ShmWindow host_window_, nic_window_;
  typename Channel::HostEnd host_end_;
  std::optional<typename Channel::NicEnd> nic_end_;
  std::vector<Gtid> tasks_;
  uint32_t incarnation_ = 0;

 public:
  SchedHost<typename Channel::HostEnd> host;
  std::optional<Agent<P, typename Channel::NicEnd>> agent;
};

/// Calls play(system) for each channel, with and without prestaging.
template <typename Play>
void OverEveryChannel(std::string_view name, SystemOptions options, Play play) {
  const bool found = VisitPolicy(name, {.cpus = kCpus, .slice = options.slice}, [&](auto policy) {
    const auto over = [&](auto channel, const char* what) {
      for (const bool prestage : {false, true}) {
        SCOPED_TRACE(std::string(what) + (prestage ? ", prestaged" : ""));
        options.prestage = prestage;
        System<decltype(channel), decltype(policy)> system(policy, options);
        play(system);
      }
    };
    over(Wave(), "Wave");
    over(Swap<true>(), "swaps that ask");
    over(Swap<false>(), "swaps that offer");
  });
  ASSERT_TRUE(found);
}

class AgentAndHost : public testing::TestWithParam<std::string_view> {};

TEST_P(AgentAndHost, NoTaskIsLostWhateverHappens) {
  OverEveryChannel(GetParam(), {.seed = 1}, [](auto& system) {
    system.Play(5'000);
    EXPECT_EQ(system.Finish(), 0u);
    EXPECT_EQ(system.agent->counters().losses, 0u);
    EXPECT_EQ(system.agent->counters().unknown_tasks, 0u);
    EXPECT_EQ(system.host.counters().watchdog_expired, 0u);
    EXPECT_EQ(system.host.counters().local_choices, 0u) << "the agent chose them all";
  });
}

TEST_P(AgentAndHost, BothCountTheSameDecisions) {
  OverEveryChannel(GetParam(), {.seed = 2}, [](auto& system) {
    system.Play(3'000);
    EXPECT_EQ(system.Finish(), 0u);
    system.Settle();
    const AgentCounters& agent = system.agent->counters();
    const HostCounters& host = system.host.counters();
    EXPECT_EQ(agent.enforced, host.statuses[0]);
    uint64_t ended = agent.enforced;
    for (size_t i = 1; i < host.statuses.size(); ++i) {
      EXPECT_EQ(agent.refused[i], host.statuses[i]) << "status " << i;
      ended += agent.refused[i];
    }
    EXPECT_EQ(agent.decisions, ended);
    EXPECT_EQ(agent.recalled_in_time, agent.refused[1]) << "aborted";
    if (system.options_.prestage) {
      EXPECT_GT(agent.prestaged, 0u);
      EXPECT_GT(host.prestage_hits, 0u);
    } else {
      EXPECT_EQ(agent.prestaged + agent.recalled_in_time + agent.recalled_too_late, 0u);
    }
  });
}

TEST_P(AgentAndHost, WhenNothingHappensTheAgentKnowsWhoIsWhere) {
  OverEveryChannel(GetParam(), {.slice = 1'000'000 * kMillisecond, .seed = 3}, [](auto& system) {
    for (int round = 0; round < 5; ++round) {
      system.Play(1'000);
      system.Settle();
      if (testing::Test::HasFatalFailure()) return;
      for (CpuId cpu = 0; cpu < kCpus; ++cpu) {
        const AgentTask* const task = system.agent->running(cpu).task;
        EXPECT_EQ(task == nullptr ? kNoTask : task->gtid, system.kernel.cpu(cpu).current);
        if (task != nullptr) {
          EXPECT_EQ(task->seqnum, system.kernel.Find(task->gtid)->barrier);
        }
      }
      EXPECT_EQ(system.agent->tasks(), system.kernel.live_tasks());
    }
  });
}

TEST_P(AgentAndHost, LostEventsAreMadeUpForByDiscovery) {
  OverEveryChannel(GetParam(), {.queue_depth = 4, .seed = 4}, [](auto& system) {
    for (int round = 0; round < 20; ++round) {
      system.Play(50);
      system.frozen = true;
      system.Play(20);
      system.frozen = false;
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(system.agent->counters().losses, 0u);
    EXPECT_EQ(system.Finish(), 0u);
  });
}

TEST_P(AgentAndHost, AnAgentThatIsReplacedIsFollowedByOneThatKnowsAsMuch) {
  OverEveryChannel(GetParam(), {.seed = 5}, [](auto& system) {
    for (int round = 0; round < 20; ++round) {
      system.Play(100);
      if (testing::Test::HasFatalFailure()) return;
      system.ReplaceAgent();
    }
    EXPECT_EQ(system.Finish(), 0u);
    EXPECT_EQ(system.agent->tasks(), 0u);
  });
}

TEST_P(AgentAndHost, AnAgentThatWasGivenUpWhileItHungComesBack) {
  OverEveryChannel(GetParam(), {.seed = 6}, [](auto& system) {
    uint64_t given_up = 0;
    for (int round = 0; round < 10; ++round) {
      system.Play(200);
      system.frozen = true;
      system.Play(2'000);
      if (testing::Test::HasFatalFailure()) return;
      given_up = system.host.counters().watchdog_expired;
      system.frozen = false;
      system.Settle();
      EXPECT_TRUE(system.kernel.agent()) << "round " << round;
    }
    EXPECT_GT(given_up, 0u);
    EXPECT_EQ(system.Finish(), 0u);
  });
}

INSTANTIATE_TEST_SUITE_P(All, AgentAndHost, testing::ValuesIn(kPolicyNames),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sluice::engine::sched
