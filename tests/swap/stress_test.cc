// SPDX-License-Identifier: BSD-3-Clause
//
// Runs two threads with two half-links in opposite directions over shared memory, with faults of
// every kind. The logs of each half-link are checked afterwards. Runs a million swaps with two
// messages and a quarter of a million with four, or a fifth of these numbers under a sanitizer.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "stress_ends.h"

namespace sluice::swap::test {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kSlowdown = 20;
#else
constexpr uint64_t kSlowdown = 1;
#endif

struct Shared {
  std::atomic<uint16_t> epoch{1};
  std::atomic<int> offering{2};  ///< Number of ends that have not finished their offers.
};

/// One thread, which offers on one half-link and answers on the other.
struct Side {
  Side(bar::ShmWindow window, bool host, const Machine& machine, uint32_t seed, uint64_t swaps)
      : offering(window, host ? 0 : 1, machine, 1, seed, swaps),
        answering(window, host ? 1 : 0, machine, 1, seed + 1, swaps),
        chance(seed + 2) {}

  void Run(Shared& shared) {
    bool done = false;
    for (uint32_t round = 1; shared.offering.load(std::memory_order_acquire) != 0; ++round) {
      if (chance.Of(FaultRates().reset)) shared.epoch.fetch_add(1);
      const uint16_t epoch = shared.epoch.load();
      offering.Step(epoch);
      answering.Step(epoch);
      if (offering.faulted() || answering.faulted()) {
        faulted = true;
        shared.offering.store(0);
      }
      if (!done && offering.done()) {
        done = true;
        shared.offering.fetch_sub(1);
      }
      if (round % 64 == 0) sched_yield();  // The peer may share this core.
    }
  }

  OfferingEnd offering;
  AnsweringEnd answering;
  Chance chance;
  bool faulted = false;
};

void JudgeHalfLink(const char* name, const OfferingEnd& offering, const AnsweringEnd& answering,
                   bool four) {
  const StressCounters& one = offering.counters();
  const StressCounters& other = answering.counters();
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "%-6s committed %llu, rejected %llu, orphaned %llu; cancels %llu (too late %llu), "
      "suspected %llu, restarts with memory %llu, without %llu\n",
      name, number(one.committed), number(one.rejected), number(one.orphaned),
      number(one.cancelled), number(one.too_late), number(one.suspected),
      number(one.resumed + other.resumed), number(one.forgot + other.forgot));
  EXPECT_EQ(Judge(offering.log(), answering.log(), four), "") << name;
  EXPECT_EQ(offering.torn(), 0u) << name;
  EXPECT_EQ(answering.torn(), 0u) << name;
  // Each kind of fault must have occurred.
  EXPECT_GT(one.committed, one.rejected / 8);
  EXPECT_GT(one.rejected, 0u);
  EXPECT_GT(one.cancelled, 0u);
  EXPECT_GT(one.resumed, 0u);
  EXPECT_GT(one.forgot + other.forgot, 0u);
}

void Stress(const Machine& machine, uint64_t swaps) {
  bar::ShmWindow window = bar::ShmWindow::Create(2, bar::WindowSide::kHost);
  ASSERT_TRUE(window);
  Side host(window, true, machine, 11, swaps / 2);
  Side nic(window.Peer(), false, machine, 21, swaps / 2);
  Shared shared;
  std::thread other([&] { nic.Run(shared); });
  host.Run(shared);
  other.join();
  EXPECT_FALSE(host.faulted || nic.faulted) << "an honest peer was found at fault";
  const bool four = machine.variant() == Variant::kFourMessage;
  std::printf("%llu swaps, %d resets of the link\n", static_cast<unsigned long long>(swaps),
              shared.epoch.load() - 1);
  JudgeHalfLink("host", host.offering, nic.answering, four);
  JudgeHalfLink("nic", nic.offering, host.answering, four);
}

TEST(Stress, TwoMessages) { Stress(kTwoMessage, 1'000'000 / kSlowdown); }
TEST(Stress, FourMessages) { Stress(kFourMessage, 250'000 / kSlowdown); }

// Checks that Judge detects violations.
TEST(StressLog, JudgeFindsWhatIsBroken) {
  const Log offered = {
      {1, EventKind::kOffered, 2}, {1, EventKind::kCommitted, 3}, {2, EventKind::kOffered, 3}};
  const Log gave = {{1, EventKind::kResponderCommitted, 3, 2}};
  EXPECT_EQ(Judge(offered, gave, false), "");
  EXPECT_NE(Judge(offered, {{1, EventKind::kRefused, 3}}, false).find("S1"), std::string::npos);
  EXPECT_NE(Judge(offered, {}, false).find("S2"), std::string::npos);
  EXPECT_NE(Judge(offered, {{1, EventKind::kResponderCommitted, 3, 2, false}}, false).find("S2"),
            std::string::npos);
  EXPECT_NE(
      Judge(offered,
            {{1, EventKind::kResponderCommitted, 3, 2}, {1, EventKind::kResponderCommitted, 2, 2}},
            false)
          .find("S3"),
      std::string::npos);
  EXPECT_NE(Judge({{1, EventKind::kOffered, 2}, {2, EventKind::kOffered, 2}}, {}, false).find("S4"),
            std::string::npos);
  EXPECT_NE(Judge(offered, {{1, EventKind::kResponderCommitted, 5, 2}}, false).find("S5"),
            std::string::npos);
  EXPECT_NE(
      Judge({{1, EventKind::kOffered, 2}, {1, EventKind::kRejected, 2}}, gave, false).find("S1"),
      std::string::npos);
}

}  // namespace
}  // namespace sluice::swap::test
