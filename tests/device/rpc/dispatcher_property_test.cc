// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the dispatcher with random calls. The host's processes hang, die, make nested calls, and
// load lines of other processes. Every call must end once. No call may start twice, continue
// without a suspension, or reach a process that it is not for. No process may hold more than
// MaxCalls calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "device/rpc/dispatcher.h"
#include "fifo_placement.h"

namespace sluice::device::rpc::test {
namespace {

using Kind = Action::Kind;

constexpr uint32_t kCores = 3;
constexpr ProcessId kKnown = 4;              // Processes 0 to 3.
constexpr uint32_t kProcesses = kKnown + 1;  // Includes one process that the device does not know.
constexpr uint64_t kSwitchBound = 400;
constexpr uint64_t kLeaveBound = 300;
constexpr uint64_t kPreemptBound = 200;
constexpr uint64_t kNestedBound = 500;
constexpr uint32_t kMaxSuspended = 3;  // Per process.

// State of a core, as the host knows it.
struct HostCore {
  enum class At : uint8_t { kKernel, kKernelLoads, kUser, kUserLoads, kLeaves };
  At at = At::kKernel;
  ProcessId process = 0;
  bool asked = false;     // The core was interrupted, that is, asked to leave the process.
  uint64_t asked_at = 0;  // Start of the time limit of the last request.
};

struct HostProcess {
  bool up = false;
  bool hangs = false;
};

// State of a call.
struct Call {
  ProcessId process;
  uint32_t ended = 0;
  bool begun = false;
  bool suspended = false;
  // The call has started but may be delivered again, because it was suspended.
  bool goes_on = false;
  uint64_t since = 0;  // Start of the suspension.
};

class World {
 public:
  explicit World(uint32_t seed)
      : random_(seed),
        placement_(seed % 2 == 0 ? 500 : ~uint64_t{0}),
        config_({.cores = kCores,
                 .queue_capacity = 4,
                 .suspended_capacity = kMaxSuspended,
                 .switch_bound = kSwitchBound,
                 .leave_bound = kLeaveBound,
                 .preempt_bound = kPreemptBound,
                 .nested_bound = kNestedBound,
                 .retire_after = seed % 3 == 0 ? 200u : 0u}),
        dispatcher_(config_, placement_) {
    for (ProcessId id = 0; id < kKnown; ++id) dispatcher_.AddProcess(id, 1 + id % 3);
  }

  void Run(uint32_t steps) {
    for (uint32_t i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      now_ += Below(20);
      Step();
      CheckBounds();
    }
    for (ProcessId id = 0; id < kKnown; ++id) {
      Apply(dispatcher_.RemoveProcess(id, now_));
    }
    for (const auto& [number, call] : calls_) {
      EXPECT_EQ(call.ended, 1u) << "call " << number;
    }
    uint64_t endings = 0;
    using enum DispatchCounter;
    for (const auto counter : {kAnswered, kQueueFull, kNoProcess, kRemoved, kLost}) {
      endings += dispatcher_.counter(counter);
    }
    EXPECT_EQ(endings, dispatcher_.counter(kArrived));
    EXPECT_EQ(endings, calls_.size());
    EXPECT_TRUE(placement_.sound());
  }

  uint64_t counter(DispatchCounter counter) const { return dispatcher_.counter(counter); }
  uint32_t most_held() const { return most_held_; }
  uint32_t may_hold() const { return MaxCalls(config_); }

 private:
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  void Step() {
    const auto core = static_cast<CoreId>(Below(kCores));
    const auto process = static_cast<ProcessId>(Below(kKnown));
    switch (Below(17)) {
      case 0:
      case 1:
      case 2:
        Arrive(static_cast<ProcessId>(Below(kProcesses)));
        break;
      case 3:
        Apply(dispatcher_.Tick(now_));
        break;
      case 4:
        if (!processes_[process].up) {
          processes_[process] = {.up = true, .hangs = Below(4) == 0};
          Apply(dispatcher_.Ready(process, now_));
        }
        break;
      case 5:
        if (Below(40) == 0) Die(process);
        if (Below(40) == 0) Apply(dispatcher_.Reclaim(core, now_));
        break;
      case 7:
        ResumeOne();
        break;
      case 6:  // A load that this core must not make.
        if (cores_[core].process != process || cores_[core].at == HostCore::At::kLeaves) {
          Apply(dispatcher_.UserLoads(core, process, now_));
        }
        break;
      default:
        Move(core);
    }
    for (const uint32_t held : held_) most_held_ = std::max(most_held_, held);
    EXPECT_LE(most_held_, may_hold());
    // While a process wants a core, no core may wait in the kernel.
    for (CoreId id = 0; id < kCores; ++id) {
      if (dispatcher_.state(id) == Dispatcher::CoreState::kKernel) {
        EXPECT_TRUE(placement_.empty());
      }
    }
  }

  void Arrive(ProcessId process) {
    const CallId call = next_call_++;
    calls_[call] = {process};
    ++held_[process];
    Apply(dispatcher_.Arrive(process, call, now_));
  }

  // Answers the nested call of a randomly chosen call, which may no longer wait for the answer.
  void ResumeOne() {
    if (next_call_ == 0) return;
    const CallId number = next_call_ - 1 - Below(std::min(next_call_, 40u));
    Call& call = calls_[number];
    const bool suspended = std::exchange(call.suspended, false);
    call.goes_on |= suspended;
    const ProcessId process = call.process;
    const Dispatcher::Actions actions = dispatcher_.Resume(process, number, now_);
    if (!suspended) {
      EXPECT_TRUE(actions.empty()) << "call " << number << " is not suspended";
    }
    Apply(actions);
  }

  // Returns the number of a process's calls that have started but are not running.
  uint32_t NotGoingOn(ProcessId process) const {
    return static_cast<uint32_t>(std::ranges::count_if(calls_, [&](const auto& one) {
      return one.second.process == process && (one.second.suspended || one.second.goes_on);
    }));
  }

  // Performs the next action of a core.
  void Move(CoreId id) {
    HostCore& core = cores_[id];
    const bool stuck = processes_[core.process].hangs;
    switch (core.at) {
      case HostCore::At::kKernel:
        core.at = HostCore::At::kKernelLoads;
        Apply(dispatcher_.KernelLoads(id, now_));
        break;
      case HostCore::At::kLeaves:
        if (stuck) break;
        core = {.at = HostCore::At::kKernelLoads};
        Apply(dispatcher_.KernelLoads(id, now_));
        break;
      case HostCore::At::kUser:
        if (stuck) break;
        core.asked = false;
        core.at = HostCore::At::kUserLoads;
        Apply(dispatcher_.UserLoads(id, core.process, now_,
                                    Below(3) == 0 ? Done::kCall : Done::kReply));
        break;
      default:
        break;  // The core waits for its load.
    }
  }

  void Die(ProcessId process) {
    if (!processes_[process].up) return;
    processes_[process] = {};
    for (HostCore& core : cores_) {
      const bool its = core.at != HostCore::At::kKernel && core.at != HostCore::At::kKernelLoads &&
                       core.process == process;
      if (its) core = {};
    }
    Apply(dispatcher_.Gone(process, now_));
  }

  void Apply(Dispatcher::Actions actions) {
    const std::vector<Action> copy(actions.begin(), actions.end());
    for (const Action& action : copy) Apply(action);
    // The kernel ends a process after the device has completed its actions.
    for (const ProcessId process : std::exchange(killed_, {})) Die(process);
  }

  void Apply(const Action& action) {
    HostCore& core = cores_[action.core];
    using At = HostCore::At;
    switch (action.kind) {
      case Kind::kRequest:
        EXPECT_EQ(core.at, At::kUserLoads) << "no host loads";
        EXPECT_EQ(core.process, action.process);
        EXPECT_EQ(calls_[action.call].process, action.process) << "another's call";
        EXPECT_FALSE(calls_[action.call].suspended);
        EXPECT_EQ(calls_[action.call].begun, std::exchange(calls_[action.call].goes_on, false));
        EXPECT_EQ(calls_[action.call].ended, 0u);
        calls_[action.call].begun = true;
        core.at = At::kUser;
        break;
      case Kind::kSwitch:
        EXPECT_EQ(core.at, At::kKernelLoads);
        EXPECT_TRUE(processes_[action.process].up);
        core = {.at = At::kUser, .process = action.process, .asked = true, .asked_at = now_};
        bound_[action.core] = kSwitchBound;
        break;
      case Kind::kYieldNow:
        EXPECT_EQ(core.at, At::kUserLoads);
        core = {.at = At::kLeaves, .process = action.process, .asked = true, .asked_at = now_};
        bound_[action.core] = kLeaveBound;
        break;
      case Kind::kRetire:
        EXPECT_EQ(core.at, At::kKernelLoads);
        core = {};
        break;
      case Kind::kInterrupt:
        EXPECT_EQ(core.at, At::kUser);
        core.asked = true;
        core.asked_at = now_;
        bound_[action.core] = kPreemptBound;
        break;
      case Kind::kKill:
        killed_.push_back(action.process);
        break;
      case Kind::kWake:
        EXPECT_EQ(core.at, At::kKernel);
        break;
      case Kind::kSuspended:
        EXPECT_TRUE(calls_[action.call].begun);
        EXPECT_LE(dispatcher_.suspended(action.process), kMaxSuspended);
        calls_[action.call].suspended = true;
        calls_[action.call].since = now_;
        break;
      case Kind::kTooMany:
        EXPECT_GE(NotGoingOn(action.process), kMaxSuspended);
        calls_[action.call].goes_on = true;
        break;
      case Kind::kTimedOut:
        EXPECT_GE(now_ - calls_[action.call].since, kNestedBound);
        EXPECT_TRUE(std::exchange(calls_[action.call].suspended, false));
        calls_[action.call].goes_on = true;
        break;
      case Kind::kAnswered:
        EXPECT_TRUE(calls_[action.call].begun) << "an answer without a call";
        EXPECT_FALSE(calls_[action.call].suspended || calls_[action.call].goes_on);
        End(calls_[action.call]);
        break;
      default:
        calls_[action.call].suspended = false;
        End(calls_[action.call]);
    }
  }

  void End(Call& call) {
    ++call.ended;
    --held_[call.process];
  }

  // Checks that a process has either fulfilled each request in time or died.
  void CheckBounds() {
    if (now_ - checked_ < 50) return;
    checked_ = now_;
    Apply(dispatcher_.Tick(now_));
    for (CoreId id = 0; id < kCores; ++id) {
      if (cores_[id].asked) {
        EXPECT_LE(now_ - cores_[id].asked_at, bound_[id] + 100) << "core " << id;
      }
    }
    for (const auto& [number, call] : calls_) {
      if (call.suspended) {
        EXPECT_LE(now_ - call.since, kNestedBound + 100) << "call " << number;
      }
    }
  }

  std::mt19937 random_;
  FifoPlacement placement_;
  DispatcherConfig config_;
  Dispatcher dispatcher_;
  uint64_t now_ = 0;
  uint64_t checked_ = 0;
  CallId next_call_ = 0;
  std::vector<ProcessId> killed_;
  std::array<HostCore, kCores> cores_{};
  std::array<uint64_t, kCores> bound_{};
  std::array<HostProcess, kProcesses> processes_{};
  std::map<CallId, Call> calls_;
  std::array<uint32_t, kProcesses> held_{};  // Calls that have not ended.
  uint32_t most_held_ = 0;                   // Highest value of held_ for any process so far.
};

TEST(DispatcherProperties, EveryCallEndsOnceAndReachesItsOwnProcessOnly) {
  std::array<uint64_t, Dispatcher::kCounters> total{};
  uint32_t most_held = 0, may_hold = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    world.Run(2'000);
    most_held = std::max(most_held, world.most_held());
    may_hold = world.may_hold();
    for (uint32_t i = 0; i < total.size(); ++i) {
      total[i] += world.counter(static_cast<DispatchCounter>(i));
    }
    if (HasFailure()) return;
  }
  for (uint32_t i = 0; i < total.size(); ++i) {
    EXPECT_GT(total[i], 0u) << Dispatcher::kCounterNames[i] << " never happened";
  }
  EXPECT_GE(most_held + 1, may_hold) << "no process held as many as it may, or one less";
}

}  // namespace
}  // namespace sluice::device::rpc::test
