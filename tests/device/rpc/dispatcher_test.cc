// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the dispatcher, event by event. The expected actions follow the dispatch described for
// Lauberhorn (HOTOS '25, sections 5 and 6).
#include "device/rpc/dispatcher.h"

#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "fifo_placement.h"

namespace sluice::device::rpc::test {
namespace {

using Kind = Action::Kind;

std::string Text(const Action& action) {
  const std::string core = std::to_string(action.core);
  const std::string process = std::to_string(action.process);
  const std::string call = "#" + std::to_string(action.call);
  switch (action.kind) {
    case Kind::kRequest:
      return call + " to " + process + " on " + core;
    case Kind::kSwitch:
      return "switch " + core + " to " + process;
    case Kind::kYieldNow:
      return "yield " + core + " from " + process;
    case Kind::kRetire:
      return "retire " + core;
    case Kind::kInterrupt:
      return "interrupt " + core;
    case Kind::kKill:
      return "kill " + process;
    case Kind::kWake:
      return "wake " + core;
    case Kind::kAnswered:
      return call + " answered";
    case Kind::kQueueFull:
      return call + " queue full";
    case Kind::kNoProcess:
      return call + " no process";
    case Kind::kRemoved:
      return call + " removed";
    case Kind::kLost:
      return call + " lost";
    case Kind::kSuspended:
      return call + " suspended";
    case Kind::kTooMany:
      return call + " too many";
    case Kind::kTimedOut:
      return call + " timed out";
  }
  return "?";
}

// An event as text, and the expected actions. Processes are 1, 2 and 3.
//   add P MAX    ready P    gone P    remove P    call P #N    start P MAX (add and ready)
//   kernel CORE  user CORE P          reclaim CORE          tick
//   starved NS (a tick; total time for which processes had no CPU)
//   calls CORE P (as user, with a call instead of a reply)  resume P #N
struct Step {
  uint64_t now;
  std::string_view event;
  std::string_view actions;
};

class Dispatching : public testing::Test {
 protected:
  void Play(const DispatcherConfig& config, uint64_t slice, const std::vector<Step>& steps) {
    FifoPlacement placement(slice);
    Dispatcher dispatcher(config, placement);
    for (const Step& step : steps) {
      EXPECT_EQ(Do(dispatcher, step), step.actions) << "at " << step.now << ": " << step.event;
    }
    EXPECT_TRUE(placement.sound());
  }

  static constexpr uint64_t kForEver = ~uint64_t{0};

 private:
  static std::string Do(Dispatcher& dispatcher, const Step& step) {
    std::istringstream words{std::string(step.event)};
    std::string verb;
    uint32_t first = 0;
    words >> verb >> first >> std::ws;
    if (words.peek() == '#') words.get();
    uint32_t second = 0;
    words >> second;
    const auto id = static_cast<ProcessId>(first);
    const auto core = static_cast<CoreId>(first);
    Dispatcher::Actions actions;
    if (verb == "add" || verb == "start") {
      const bool added = dispatcher.AddProcess(id, second);
      if (verb == "add" || !added) return added ? "" : "refused";
    }
    if (verb == "ready" || verb == "start") actions = dispatcher.Ready(id, step.now);
    if (verb == "gone") actions = dispatcher.Gone(id, step.now);
    if (verb == "remove") actions = dispatcher.RemoveProcess(id, step.now);
    if (verb == "call") actions = dispatcher.Arrive(id, second, step.now);
    if (verb == "kernel") actions = dispatcher.KernelLoads(core, step.now);
    if (verb == "user") {
      actions = dispatcher.UserLoads(core, static_cast<ProcessId>(second), step.now);
    }
    if (verb == "calls") {
      actions = dispatcher.UserLoads(core, static_cast<ProcessId>(second), step.now, Done::kCall);
    }
    if (verb == "resume") actions = dispatcher.Resume(id, second, step.now);
    if (verb == "reclaim") actions = dispatcher.Reclaim(core, step.now);
    if (verb == "tick") actions = dispatcher.Tick(step.now);
    if (verb == "starved") {
      actions = dispatcher.Tick(
          step.now, [first](CoreId, ProcessId) { return std::optional<uint64_t>(first); });
    }
    std::string text;
    for (const Action& action : actions) text += (text.empty() ? "" : ", ") + Text(action);
    return text;
  }
};

TEST_F(Dispatching, ACallGoesToACoreThatWaitsInItsProcess) {
  Play({}, kForEver,
       {{0, "start 1 1", ""},
        {1, "kernel 0", ""},
        {2, "call 1 #7", "switch 0 to 1"},
        {3, "user 0 1", "#7 to 1 on 0"},
        {4, "user 0 1", "#7 answered"},
        {5, "call 1 #8", "#8 to 1 on 0"},
        {6, "user 0 1", "#8 answered"},
        {7, "user 0 1", ""},  // Loads again after TRYAGAIN.
        {8, "call 1 #9", "#9 to 1 on 0"}});
}

TEST_F(Dispatching, ACoreTakesWhatWaitsForItsProcess) {
  Play({}, kForEver,
       {{0, "start 1 1", ""},
        {1, "kernel 0", ""},
        {2, "call 1 #1", "switch 0 to 1"},
        {3, "call 1 #2", ""},
        {4, "user 0 1", "#1 to 1 on 0"},
        {5, "call 1 #3", ""},
        {6, "user 0 1", "#1 answered, #2 to 1 on 0"},
        {7, "user 0 1", "#2 answered, #3 to 1 on 0"},
        {8, "user 0 1", "#3 answered"}});
}

TEST_F(Dispatching, QueuesAreBoundedAndOfOneProcessEach) {
  Play({.queue_capacity = 2}, kForEver,
       {{0, "add 1 1", ""},
        {0, "add 2 1", ""},
        {0, "add 2 1", "refused"},
        {0, "add 64 1", "refused"},
        {0, "add 3 0", "refused"},
        {1, "call 1 #1", ""},
        {1, "call 1 #2", ""},
        {1, "call 1 #3", "#3 queue full"},
        {1, "call 2 #4", ""},
        {1, "call 3 #5", "#5 no process"},
        {1, "call 99 #6", "#6 no process"}});
}

TEST_F(Dispatching, ABusyProcessGetsASecondCoreAndNoMoreThanItMay) {
  Play({.cores = 3}, kForEver,
       {{0, "start 1 2", ""},
        {1, "kernel 0", ""},
        {1, "kernel 1", ""},
        {1, "kernel 2", ""},
        {2, "call 1 #1", "switch 0 to 1"},
        {2, "call 1 #2", "switch 1 to 1"},
        {2, "call 1 #3", ""},
        {3, "user 1 1", "#1 to 1 on 1"},
        {4, "user 0 1", "#2 to 1 on 0"},
        {5, "user 1 1", "#1 answered, #3 to 1 on 1"}});
}

TEST_F(Dispatching, AnIdleProcessYieldsToOneThatWaits) {
  Play({}, kForEver,
       {{0, "start 1 1", ""},
        {0, "start 2 1", ""},
        {1, "kernel 0", ""},
        {2, "call 1 #1", "switch 0 to 1"},
        {3, "user 0 1", "#1 to 1 on 0"},
        {4, "user 0 1", "#1 answered"},
        {5, "call 2 #2", "yield 0 from 1"},
        {6, "call 1 #3", ""},  // The core is leaving, so no call reaches it.
        {7, "kernel 0", "switch 0 to 2"},
        {8, "user 0 2", "#2 to 2 on 0"},
        {9, "user 0 2", "#2 answered, yield 0 from 2"},
        {10, "kernel 0", "switch 0 to 1"},
        {11, "user 0 1", "#3 to 1 on 0"}});
}

TEST_F(Dispatching, TheCoreThatHasWaitedLongestYields) {
  Play({.cores = 2}, kForEver,
       {{0, "start 1 1", ""},
        {0, "start 2 1", ""},
        {0, "start 3 1", ""},
        {1, "kernel 0", ""},
        {1, "kernel 1", ""},
        {2, "call 1 #1", "switch 0 to 1"},
        {2, "call 2 #2", "switch 1 to 2"},
        {3, "user 0 1", "#1 to 1 on 0"},
        {3, "user 1 2", "#2 to 2 on 1"},
        {4, "user 1 2", "#2 answered"},
        {5, "user 0 1", "#1 answered"},
        {6, "call 3 #3", "yield 1 from 2"},
        {7, "kernel 1", "switch 1 to 3"}});
}

TEST_F(Dispatching, AtTheEndOfItsSliceAProcessMakesWayBetweenCallsOrByAnInterrupt) {
  Play({.preempt_bound = 50}, 100,
       {{0, "start 1 1", ""},
        {0, "start 2 1", ""},
        {1, "kernel 0", ""},
        {2, "call 1 #1", "switch 0 to 1"},
        {3, "call 1 #2", ""},
        {4, "user 0 1", "#1 to 1 on 0"},
        {5, "call 2 #3", ""},
        {6, "user 0 1", "#1 answered, #2 to 1 on 0"},
        {7, "call 1 #4", ""},
        {101, "tick", ""},
        {102, "tick", "interrupt 0"},
        {103, "tick", ""},
        {110, "user 0 1", "#2 answered, yield 0 from 1"},
        {111, "kernel 0", "switch 0 to 2"},
        {112, "user 0 2", "#3 to 2 on 0"},
        {300, "user 0 2", "#3 answered, yield 0 from 2"},
        {301, "kernel 0", "switch 0 to 1"},
        {302, "user 0 1", "#4 to 1 on 0"}});
}

TEST_F(Dispatching, AHandlerThatGoesOnIsInterruptedAgain) {
  Play({.preempt_bound = 50, .interrupt_every = 20}, 10,
       {{0, "start 1 1", ""},
        {0, "start 2 1", ""},
        {1, "kernel 0", ""},
        {2, "call 1 #1", "switch 0 to 1"},
        {3, "user 0 1", "#1 to 1 on 0"},
        {4, "call 2 #2", ""},
        {20, "tick", "interrupt 0"},
        {39, "tick", ""},
        {40, "tick", "interrupt 0"},
        {41, "tick", ""},
        {62, "tick", "interrupt 0"},
        {70, "tick", "kill 1"},
        {100, "tick", ""}});
}

TEST_F(Dispatching, AHandlerThatWasInterruptedEndsWithinItsBoundOrIsKilled) {
  Play({.preempt_bound = 50}, 10,
       {{0, "start 1 1", ""},
        {0, "start 2 1", ""},
        {1, "kernel 0", ""},
        {2, "call 1 #1", "switch 0 to 1"},
        {3, "user 0 1", "#1 to 1 on 0"},
        {4, "call 2 #2", ""},
        {20, "tick", "interrupt 0"},
        {69, "tick", ""},
        {70, "tick", "kill 1"},
        {71, "tick", ""},
        {72, "call 1 #3", ""},  // This call waits for the next incarnation.
        {73, "gone 1", "#1 lost"},
        {74, "kernel 0", "switch 0 to 2"},
        {75, "ready 1", ""},
        {76, "user 0 2", "#2 to 2 on 0"},
        {77, "user 0 2", "#2 answered, yield 0 from 2"},
        {78, "kernel 0", "switch 0 to 1"},
        {79, "user 0 1", "#3 to 1 on 0"}});
}

TEST_F(Dispatching, AProcessThatNeverComesOrNeverLeavesIsKilled) {
  Play({.switch_bound = 10, .leave_bound = 20}, kForEver,
       {{0, "start 1 1", ""},
        {0, "start 2 1", ""},
        {0, "kernel 0", ""},
        {0, "call 1 #1", "switch 0 to 1"},
        {9, "tick", ""},
        {10, "tick", "kill 1"},
        {11, "gone 1", ""},
        {11, "kernel 0", ""},
        {12, "ready 1", "switch 0 to 1"},
        {13, "user 0 1", "#1 to 1 on 0"},
        {14, "user 0 1", "#1 answered"},
        {15, "call 2 #2", "yield 0 from 1"},
        {34, "tick", ""},
        {35, "tick", "kill 1"},
        {36, "kernel 0", "switch 0 to 2"},  // The kernel got the core back first.
        {37, "gone 1", ""}});
}

// Bounds are 100 ns. At a deadline, the dispatcher checks the starved time. The process then gets
// another 50 ns, which do not include time without a CPU.
TEST_F(Dispatching, TimeWithoutACpuCountsForNoBound) {
  Play({.switch_bound = 100, .preempt_bound = 100, .interrupt_every = 10'000}, 10,
       {{0, "start 1 1", ""},
        {0, "start 2 1", ""},
        {0, "kernel 0", ""},
        {0, "call 1 #1", "switch 0 to 1"},
        {100, "starved 7000", ""},
        {150, "starved 7040", ""},  // 10 of the 50 ns are used; 40 remain.
        {189, "starved 7040", ""},
        {190, "starved 7065", ""},  // 25 of the 50 ns are used.
        {191, "user 0 1", "#1 to 1 on 0"},
        {200, "call 2 #2", "interrupt 0"},
        {300, "starved 9000", ""},
        {349, "starved 9000", ""},
        {350, "starved 9000", "kill 1"}});
}

TEST_F(Dispatching, AProcessThatGivesItsCoreBackAgainAndAgainAndNeverLoadsIsKilled) {
  std::vector<Step> steps = {
      {0, "start 1 1", ""}, {0, "kernel 0", ""}, {0, "call 1 #1", "switch 0 to 1"}};
  for (uint64_t now = 1; now <= 20; ++now) steps.push_back({now, "kernel 0", "switch 0 to 1"});
  steps.push_back({50, "user 0 1", "#1 to 1 on 0"});
  steps.push_back({51, "kernel 0", "#1 lost"});
  steps.push_back({60, "call 1 #2", "switch 0 to 1"});
  // After the bound, the process may give the core back 16 times before it is killed.
  for (uint64_t now = 200; now < 216; ++now) steps.push_back({now, "kernel 0", "switch 0 to 1"});
  steps.push_back({216, "kernel 0", "kill 1"});
  steps.push_back({217, "gone 1", ""});
  steps.push_back({218, "ready 1", "switch 0 to 1"});
  steps.push_back({500, "kernel 0", "switch 0 to 1"});
  Play({.switch_bound = 100}, kForEver, steps);
}

TEST_F(Dispatching, AHandlerThatHangsIsKilledIfThereIsABoundForAll) {
  Play({.handler_bound = 100}, kForEver,
       {{0, "start 1 1", ""},
        {0, "kernel 0", ""},
        {0, "call 1 #1", "switch 0 to 1"},
        {5, "user 0 1", "#1 to 1 on 0"},
        {104, "tick", ""},
        {105, "tick", "kill 1"},
        {106, "user 0 1", "#1 answered"},  // Too late to save the process, but not the call.
        {107, "gone 1", ""}});
}

TEST_F(Dispatching, ACoreThatTheKernelWantsBackIsRetired) {
  Play({.cores = 2, .preempt_bound = 50}, kForEver,
       {{0, "start 1 2", ""},
        {0, "reclaim 0", ""},  // The kernel already has the core.
        {0, "kernel 0", ""},
        {1, "reclaim 0", "retire 0"},
        {2, "kernel 0", ""},
        {3, "call 1 #1", "switch 0 to 1"},
        {4, "reclaim 0", ""},
        {5, "user 0 1", "yield 0 from 1"},
        {6, "kernel 1", "switch 1 to 1"},
        {7, "kernel 0", "retire 0"},
        {8, "user 1 1", "#1 to 1 on 1"},
        {9, "reclaim 1", "interrupt 1"},
        {10, "user 1 1", "#1 answered, yield 1 from 1"},
        {11, "kernel 1", "retire 1"},
        {12, "call 1 #2", ""},  // The kernel has reclaimed both cores, so none serves the call.
        {13, "tick", ""}});
}

TEST_F(Dispatching, IdleCoresAreRetiredAndWokenWhenTheyAreNeeded) {
  Play({.cores = 2, .retire_after = 100, .kept_cores = 1}, kForEver,
       {{0, "start 1 2", ""},
        {0, "kernel 0", ""},
        {50, "kernel 1", ""},
        {99, "tick", ""},
        {100, "tick", "retire 0"},
        {200, "tick", ""},  // The process keeps one core.
        {201, "call 1 #1", "switch 1 to 1"},
        {202, "call 1 #2", "wake 0"},
        {203, "call 1 #3", ""},
        {204, "kernel 0", "switch 0 to 1"},
        {205, "user 0 1", "#1 to 1 on 0"}});
}

TEST_F(Dispatching, AnIdleCoreIsTakenBackFromItsProcessAndThenRetired) {
  Play({.cores = 3, .retire_after = 100, .kept_cores = 1}, kForEver,
       {{0, "start 1 3", ""},
        {0, "kernel 0", ""},
        {0, "kernel 1", ""},
        {0, "call 1 #1", "switch 0 to 1"},
        {0, "call 1 #2", "switch 1 to 1"},
        {1, "user 0 1", "#1 to 1 on 0"},
        {1, "user 1 1", "#2 to 1 on 1"},
        {10, "user 0 1", "#1 answered"},
        {20, "user 1 1", "#2 answered"},
        {109, "tick", ""},
        {110, "tick", "yield 0 from 1"},
        {111, "kernel 0", ""},
        // The process keeps one core, and the next call is delivered to that core.
        {210, "tick", ""},
        {211, "tick", "retire 0"},
        {500, "call 1 #3", "#3 to 1 on 1"},
        {501, "call 1 #4", "wake 0"},
        {502, "kernel 0", "switch 0 to 1"},
        {503, "user 0 1", "#4 to 1 on 0"}});
}

TEST_F(Dispatching, ASuspendedCallLeavesItsCoreAndGoesOnBeforeCallsThatHaveNotBegun) {
  Play({}, kForEver,
       {{0, "start 1 1", ""},
        {0, "kernel 0", ""},
        {1, "call 1 #1", "switch 0 to 1"},
        {2, "user 0 1", "#1 to 1 on 0"},
        {3, "calls 0 1", "#1 suspended"},
        {4, "call 1 #2", "#2 to 1 on 0"},
        {5, "call 1 #3", ""},
        {6, "resume 1 #1", ""},
        {7, "resume 1 #1", ""},  // The call is no longer suspended.
        {8, "user 0 1", "#2 answered, #1 to 1 on 0"},
        {9, "calls 0 1", "#1 suspended, #3 to 1 on 0"},
        {10, "user 0 1", "#3 answered"},
        {11, "resume 1 #1", "#1 to 1 on 0"},
        {12, "user 0 1", "#1 answered"},
        {13, "resume 2 #1", ""}});
}

TEST_F(Dispatching, ACallThatGoesOnGetsACoreAsAnyOtherDoes) {
  Play({}, kForEver,
       {{0, "start 1 1", ""},
        {0, "start 2 1", ""},
        {0, "kernel 0", ""},
        {1, "call 1 #1", "switch 0 to 1"},
        {2, "user 0 1", "#1 to 1 on 0"},
        {3, "calls 0 1", "#1 suspended"},
        {3, "call 2 #2", "yield 0 from 1"},  // The nested call.
        {4, "kernel 0", "switch 0 to 2"},
        {5, "user 0 2", "#2 to 2 on 0"},
        {6, "user 0 2", "#2 answered"},
        {6, "resume 1 #1", "yield 0 from 2"},
        {7, "kernel 0", "switch 0 to 1"},
        {8, "user 0 1", "#1 to 1 on 0"},
        {9, "user 0 1", "#1 answered"}});
}

TEST_F(Dispatching, BeyondItsBoundACallGoesOnAtOnce) {
  Play({.cores = 2, .suspended_capacity = 1}, kForEver,
       {{0, "start 1 2", ""},
        {0, "kernel 0", ""},
        {0, "kernel 1", ""},
        {1, "call 1 #1", "switch 0 to 1"},
        {1, "call 1 #2", "switch 1 to 1"},
        {2, "user 0 1", "#1 to 1 on 0"},
        {2, "user 1 1", "#2 to 1 on 1"},
        {3, "calls 0 1", "#1 suspended"},
        // The nested call is delivered to whichever core waits.
        {4, "calls 1 1", "#2 too many, #2 to 1 on 0"},
        {5, "calls 0 1", "#2 too many, #2 to 1 on 1"},
        {6, "resume 1 #1", "#1 to 1 on 0"},
        {7, "calls 1 1", "#2 suspended"},
        {8, "user 0 1", "#1 answered"}});
}

TEST_F(Dispatching, AnAnswerThatDoesNotComeIsNotWaitedFor) {
  Play({.nested_bound = 50}, kForEver,
       {{0, "start 1 1", ""},
        {0, "kernel 0", ""},
        {1, "call 1 #1", "switch 0 to 1"},
        {2, "user 0 1", "#1 to 1 on 0"},
        {10, "calls 0 1", "#1 suspended"},
        {59, "tick", ""},
        {60, "tick", "#1 timed out, #1 to 1 on 0"},
        {61, "resume 1 #1", ""},  // Too late.
        {62, "user 0 1", "#1 answered"},
        {200, "tick", ""}});
}

TEST_F(Dispatching, WhatAProcessHadSuspendedDiesWithIt) {
  Play({}, kForEver,
       {{0, "start 1 1", ""},
        {0, "kernel 0", ""},
        {1, "call 1 #1", "switch 0 to 1"},
        {1, "call 1 #2", ""},
        {1, "call 1 #3", ""},
        {1, "call 1 #4", ""},
        {2, "user 0 1", "#1 to 1 on 0"},
        {3, "calls 0 1", "#1 suspended, #2 to 1 on 0"},
        {4, "calls 0 1", "#2 suspended, #3 to 1 on 0"},
        {5, "resume 1 #2", ""},
        {6, "gone 1", "#3 lost, #1 lost, #2 lost"},
        {7, "resume 1 #1", ""},
        {8, "kernel 0", ""},
        {9, "ready 1", "switch 0 to 1"},
        {10, "user 0 1", "#4 to 1 on 0"}});
}

TEST_F(Dispatching, ALoadOfAProcessThatDoesNotHaveTheCoreIsNotAnswered) {
  Play({}, kForEver,
       {{0, "start 1 1", ""},
        {0, "start 2 1", ""},
        {0, "user 0 1", ""},
        {1, "kernel 0", ""},
        {2, "call 1 #1", "switch 0 to 1"},
        {3, "user 0 2", ""},
        {3, "user 7 1", ""},
        {3, "kernel 7", ""},
        {4, "user 0 1", "#1 to 1 on 0"},
        {5, "user 0 2", ""},
        {6, "user 0 1", "#1 answered"},
        {7, "call 2 #2", "yield 0 from 1"},
        {8, "user 0 1", ""},  // After YIELDNOW.
        {9, "kernel 0", "switch 0 to 2"}});
}

TEST_F(Dispatching, WhatDiesLosesWhatItRanAndWhatIsRemovedEverything) {
  Play({}, kForEver,
       {{0, "start 1 1", ""},
        {0, "kernel 0", ""},
        {1, "call 1 #1", "switch 0 to 1"},
        {1, "call 1 #2", ""},
        {2, "user 0 1", "#1 to 1 on 0"},
        {3, "gone 1", "#1 lost"},
        {3, "gone 1", ""},
        {4, "kernel 0", ""},
        {5, "ready 1", "switch 0 to 1"},
        {6, "user 0 1", "#2 to 1 on 0"},
        {7, "call 1 #3", ""},
        {8, "remove 1", "#2 lost, #3 removed"},
        {9, "call 1 #4", "#4 no process"},
        {10, "kernel 0", ""},
        {11, "add 1 1", ""},
        {12, "ready 1", ""},
        {13, "call 1 #5", "switch 0 to 1"}});
}

}  // namespace
}  // namespace sluice::device::rpc::test
