// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the real ends against every behavior of the adversary within the bounds. The same search
// must find the fault in each mutated table; the property that a mutation violates is fixed before
// the search begins.
#include <gtest/gtest.h>

#include <cstdio>
#include <initializer_list>
#include <string>

#include "world.h"

namespace sluice::coherent::test {
namespace {

Exploration Explore(const std::string& name, const Config& config) {
  const Exploration found = Explorer(World(config)).Run();
  std::string broken;
  for (uint8_t property = 0; property < kProperties; ++property) {
    if (found.violating[property] != 0) {
      broken += "  " + std::string(PropertyName(property)) + " " +
                std::to_string(found.violating[property]);
    }
  }
  std::printf("%-58s %8llu states  violations %llu, stuck %llu%s\n", name.c_str(),
              static_cast<unsigned long long>(found.states),
              static_cast<unsigned long long>(found.violations()),
              static_cast<unsigned long long>(found.unresolvable), broken.c_str());
  EXPECT_TRUE(found.complete) << name;
  return found;
}

void ExpectSafe(const std::string& name, const Config& config) {
  const Exploration found = Explore(name, config);
  EXPECT_EQ(found.violations(), 0u) << name << "\n" << found.trace;
  EXPECT_EQ(found.unresolvable, 0u) << name << "\n" << found.trace;
  EXPECT_GT(found.states, 50u) << name << ": the adversary did nothing";
}

TEST(Safe, LoadsAndAnswers) {
  ExpectSafe("3 requests, 2 loads that wait too long", {.requests = 3, .stalls = 2});
  ExpectSafe("YIELDNOW and RETIRE", {.requests = 2, .stalls = 1, .yields = 2});
}

TEST(Safe, Preemption) {
  ExpectSafe("preempted twice", {.requests = 2, .stalls = 1, .preempts = 2});
  ExpectSafe("preempted, yields, killed",
             {.requests = 2, .stalls = 1, .preempts = 1, .yields = 1, .kills = 1});
}

TEST(Safe, ProcessesThatEnd) {
  ExpectSafe("the process ends, or is killed",
             {.requests = 3, .preempts = 1, .deaths = 1, .kills = 1});
}

TEST(Safe, ANicThatStartsAgain) {
  ExpectSafe("the NIC starts again twice", {.requests = 3, .stalls = 1, .nic_restarts = 2});
  ExpectSafe("the NIC starts again, preemption, the process ends",
             {.requests = 2, .stalls = 1, .preempts = 1, .nic_restarts = 1, .deaths = 1});
}

TEST(Safe, LinesThatAreLost) {
  ExpectSafe("lines are lost", {.requests = 2, .stalls = 1, .preempts = 1, .losses = 2});
}

TEST(Safe, TwoProcesses) {
  ExpectSafe("two processes, one ends", {.processes = 2, .requests = 2, .stalls = 0, .deaths = 1});
}

TEST(Safe, TheTransmitPair) {
  ExpectSafe("frames sent and requests", {.requests = 1, .stalls = 1, .frames = 2});
  ExpectSafe("frames sent, preemption, the NIC starts again",
             {.requests = 1, .stalls = 0, .preempts = 1, .nic_restarts = 1, .frames = 2});
}

// --- Mutations that are unsafe on purpose.

/// One changed table row and the violation that the search must find.
struct Mutation {
  const char* name;
  Row row;
  Config config;
  int property;  ///< A Property, or kStuck.
};
constexpr int kStuck = -1;

constexpr auto kN = Role::kNic;
constexpr auto kH = Role::kHost;

const Mutation kMutations[] = {
    {"the reply is not consumed before the next answer",
     {kN, State::kLent, Input::kLoad, State::kLoading, Action::kNote},
     {},
     kExclusion},
    {"the reply is not consumed from a host that is asked to leave",
     {kN, State::kAskedLent, Input::kLoad, State::kAskedAway, Action::kNoteYield},
     {.preempts = 1},
     kStuck},
    {"a lent line is answered once more",
     {kN, State::kLent, Input::kDeliver, State::kLent, Action::kAnswerContent},
     {},
     kExclusion},
    {"an answer without a load",
     {kN, State::kAway, Input::kDeliver, State::kLent, Action::kAnswerContent},
     {},
     kExclusion},
    {"the NIC forgets that it answered",
     {kN, State::kLoading, Input::kDeliver, State::kLoading, Action::kAnswerContent},
     {},
     kExclusion},
    {"after TRYAGAIN a line is expected back",
     {kN, State::kLoading, Input::kStalled, State::kLent, Action::kAnswerTryAgain},
     {},
     kEnding},
    {"TRYAGAIN is not sent",
     {kN, State::kLoading, Input::kStalled, State::kAway, Action::kIgnore},
     {},
     kStuck},
    {"preemption does not answer the load that waits",
     {kN, State::kLoading, Input::kPreempt, State::kAskedAway, Action::kBar},
     {.preempts = 1},
     kStuck},
    {"preemption does not wait for the host to leave",
     {kN, State::kAway, Input::kPreempt, State::kPreempted, Action::kBar},
     {.preempts = 1},
     kPreemption},
    {"an asked host is served as before",
     {kN, State::kAskedAway, Input::kLoad, State::kLoading, Action::kNote},
     {.preempts = 1},
     kPreemption},
    {"the bound does nothing to a handler",
     {kN, State::kAskedLent, Input::kBound, State::kAskedLent, Action::kIgnore},
     {.preempts = 1},
     kPreemption},
    {"the bound does nothing to a host between two loads",
     {kN, State::kAskedAway, Input::kBound, State::kAskedAway, Action::kIgnore},
     {.preempts = 1},
     kPreemption},
    {"the host has left, and the NIC forgets that it may not enter",
     {kN, State::kAskedAway, Input::kLeft, State::kAway, Action::kReportLeft},
     {.preempts = 1},
     kStuck},
    {"READY is not set again",
     {kN, State::kPreempted, Input::kResume, State::kAway, Action::kIgnore},
     {.preempts = 1},
     kStuck},
    {"a killed endpoint is not closed",
     {kN, State::kLent, Input::kKill, State::kClosed, Action::kIgnore},
     {.deaths = 1},
     kEnding},
    {"the host treats TRYAGAIN as content",
     {kH, State::kWaiting, Input::kTryAgain, State::kHolding, Action::kReportEmpty},
     {},
     kExclusion},
    {"the host loads on without a word about the request",
     {kH, State::kHolding, Input::kCallLoad, State::kWaiting, Action::kLoadLine},
     {},
     kSound},
    {"the host writes NoReply over its reply",
     {kH, State::kWritten, Input::kCallLoad, State::kWaiting, Action::kLoadUnwritten},
     {},
     kAnswer},
    {"the host does not clear BUSY when it leaves",
     {kH, State::kWaiting, Input::kYieldNow, State::kOutside, Action::kReportEmpty},
     {.preempts = 1},
     kStuck},
    {"the host enters although READY is clear",
     {kH, State::kOutside, Input::kCallBarred, State::kWaiting, Action::kLoadLine},
     {.preempts = 1},
     kPreemption},
    {"the host does not notice that its endpoint is closed",
     {kH, State::kWaiting, Input::kGone, State::kWaiting, Action::kIgnore},
     {.kills = 1},
     kStuck},
};

class Unsafe : public ::testing::TestWithParam<Mutation> {};

TEST_P(Unsafe, IsCaught) {
  const Mutation& mutation = GetParam();
  Machine machine = kMachine;
  machine.Set(mutation.row);
  Config config = mutation.config;
  config.machine = &machine;
  const Exploration found = Explore(std::string("unsafe: ") + mutation.name, config);
  if (mutation.property == kStuck) {
    EXPECT_GT(found.unresolvable, 0u) << "was not caught";
  } else {
    EXPECT_GT(found.violating[static_cast<size_t>(mutation.property)], 0u) << "was not caught\n"
                                                                           << found.trace;
  }
}
INSTANTIATE_TEST_SUITE_P(Tables, Unsafe, ::testing::ValuesIn(kMutations));

void ExpectBroken(const std::string& name, const Config& config, Property property) {
  const Exploration found = Explore("unsafe: " + name, config);
  EXPECT_GT(found.violating[property], 0u) << name << " was not caught\n" << found.trace;
}

TEST(UnsafeUse, IsCaught) {
  ExpectBroken("a dispatcher that does not look whose a request is",
               {.processes = 2, .requests = 1, .stalls = 0, .any_process = true}, kIsolation);
  ExpectBroken("a call lost with a process is delivered again",
               {.processes = 2,
                .requests = 1,
                .stalls = 0,
                .deaths = 1,
                .any_process = true,
                .deliver_again = true},
               kExecution);
  ExpectBroken("a restarted NIC forgets lent lines",
               {.requests = 2, .stalls = 0, .nic_restarts = 1, .resume_early = true}, kExclusion);
}

}  // namespace
}  // namespace sluice::coherent::test
