// SPDX-License-Identifier: BSD-3-Clause
#include "processor.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "stack_pool.h"

namespace sluice::sched {
namespace {

using Ended = Processor::Ended;

constexpr uint64_t kCyclesPerSecond = 1'000'000'000;  // The tests do not depend on this value.
constexpr uint64_t kRunaway = 1'000'000;
constexpr uint64_t kFar = ~uint64_t{0} / 2;

// A processor on the test's thread, and fibers for it.
class OnProcessor : public testing::Test {
 protected:
  void SetUp() override { processor.Enter(); }
  void TearDown() override { processor.Leave(); }

  StackPool stacks{8, 64 << 10};
  Processor processor{kRunaway, kCyclesPerSecond};
};

TEST_F(OnProcessor, AFiberWhoseTimeIsNotOverPassesItsSafePoints) {
  Fiber fiber(stacks.stack(0));
  fiber.Start(
      [](void* self) {
        for (int i = 0; i < 100; ++i) static_cast<Fiber*>(self)->SafePoint();
      },
      &fiber);
  EXPECT_EQ(processor.Run(fiber, kFar), Ended::kDone);
}

TEST_F(OnProcessor, AFiberWhoseTimeIsOverLeavesAtItsNextSafePoint) {
  struct Job {
    Fiber* fiber;
    int steps = 0;
  } job;
  Fiber fiber(stacks.stack(0));
  job.fiber = &fiber;
  fiber.Start(
      [](void* argument) {
        auto& self = *static_cast<Job*>(argument);
        for (; self.steps < 3; ++self.steps) self.fiber->SafePoint();
      },
      &job);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(processor.Run(fiber, 0), Ended::kPaused);
    EXPECT_EQ(job.steps, i);
  }
  EXPECT_EQ(processor.Run(fiber, 0), Ended::kDone);
}

TEST_F(OnProcessor, AnInterruptEndsTheTimeOfWhoRuns) {
  struct Job {
    Fiber* fiber;
    Processor* processor;
  } job{nullptr, &processor};
  Fiber fiber(stacks.stack(0));
  job.fiber = &fiber;
  fiber.Start(
      [](void* argument) {
        auto& self = *static_cast<Job*>(argument);
        std::thread([&] { self.processor->Interrupt(); }).join();
        self.fiber->SafePoint();
      },
      &job);
  EXPECT_EQ(processor.Run(fiber, kFar), Ended::kPaused);
  EXPECT_EQ(processor.Run(fiber, kFar), Ended::kDone);
}

TEST_F(OnProcessor, TimeAwayIsNotTimeOnTheProcessor) {
  struct Job {
    Fiber* fiber;
    uint64_t before = 0, after = 0;
  } job;
  Fiber fiber(stacks.stack(0));
  job.fiber = &fiber;
  fiber.Start(
      [](void* argument) {
        auto& self = *static_cast<Job*>(argument);
        self.before = self.fiber->away_cycles();
        self.fiber->SafePoint();
        self.after = self.fiber->away_cycles();
      },
      &job);
  EXPECT_EQ(processor.Run(fiber, 0), Ended::kPaused);
  const uint64_t left = rte_rdtsc();
  while (rte_rdtsc() - left < 100'000) {
  }
  EXPECT_EQ(processor.Run(fiber, kFar), Ended::kDone);
  EXPECT_EQ(job.before, 0u);
  EXPECT_GE(job.after, 100'000u);
}

// Computes with values in registers, including vector registers. If the call is not disturbed, it
// yields the expected result.
double Compute(uint64_t rounds) {
  double sum[4] = {0, 1, 2, 3};
  for (uint64_t i = 0; i < rounds; ++i) {
    for (double& s : sum) s = std::sqrt(s * s + static_cast<double>(i & 7)) * 0.999;
  }
  return sum[0] + sum[1] + sum[2] + sum[3];
}

struct Runaway {
  uint64_t rounds = 0;
  double result = 0;
  static void Body(void* argument) {
    auto& self = *static_cast<Runaway*>(argument);
    self.result = Compute(self.rounds);
  }
};

TEST_F(OnProcessor, AFiberWithoutSafePointsIsCutByASignalAndLosesNothing) {
  constexpr uint64_t kRounds = 4'000'000;
  const double expected = Compute(kRounds);
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Runaway> jobs(4, Runaway{kRounds, 0});
  for (uint32_t i = 0; i < 4; ++i) {
    fibers.push_back(std::make_unique<Fiber>(stacks.stack(i)));
    fibers.back()->Start(&Runaway::Body, &jobs[i]);
  }
  int cuts = 0;
  for (size_t left = 4; left > 0;) {
    for (auto& fiber : fibers) {
      if (fiber == nullptr) continue;
      const Ended ended = processor.Run(*fiber, rte_rdtsc());
      ASSERT_NE(ended, Ended::kPaused) << "it has no safe points";
      cuts += ended == Ended::kCut;
      if (ended != Ended::kDone) continue;
      fiber = nullptr;
      --left;
    }
  }
  EXPECT_GT(cuts, 4);
  EXPECT_EQ(processor.cuts(), static_cast<uint64_t>(cuts));
  for (const Runaway& job : jobs) EXPECT_EQ(job.result, expected);
}

TEST_F(OnProcessor, AFiberThatWasCutEndsInAnotherThread) {
  Runaway job{8'000'000, 0};
  Fiber fiber(stacks.stack(0));
  fiber.Start(&Runaway::Body, &job);
  ASSERT_EQ(processor.Run(fiber, rte_rdtsc()), Ended::kCut);
  Ended ended = Ended::kPaused;
  std::thread([&] {
    Processor other(kRunaway, kCyclesPerSecond);
    other.Enter();
    ended = other.Run(fiber, kFar);
    other.Leave();
  }).join();
  EXPECT_EQ(ended, Ended::kDone);
  EXPECT_EQ(job.result, Compute(job.rounds));
}

TEST_F(OnProcessor, ASectionThatMustNotBeCutIsNot) {
  struct Job {
    Fiber* fiber;
    bool inside = false;
    bool left = false;
  } job;
  Fiber fiber(stacks.stack(0));
  job.fiber = &fiber;
  fiber.Start(
      [](void* argument) {
        auto& self = *static_cast<Job*>(argument);
        {
          const Fiber::Uncut uncut(*self.fiber);
          self.inside = true;
          const uint64_t begin = rte_rdtsc();
          while (rte_rdtsc() - begin < 50 * kRunaway) {
          }
          self.inside = false;
        }
        self.left = true;
        while (self.fiber->away_cycles() == 0) {  // Spins until a signal interrupts the fiber.
        }
      },
      &job);
  ASSERT_EQ(processor.Run(fiber, rte_rdtsc()), Ended::kCut);
  EXPECT_FALSE(job.inside);
  EXPECT_TRUE(job.left);
  EXPECT_EQ(processor.Run(fiber, kFar), Ended::kDone);
}

TEST_F(OnProcessor, ErrnoIsTheFibersOwnWhenItIsCut) {
  struct Job {
    Fiber* fiber;
    int seen = 0;
  } job;
  Fiber fiber(stacks.stack(0));
  job.fiber = &fiber;
  fiber.Start(
      [](void* argument) {
        auto& self = *static_cast<Job*>(argument);
        errno = ENOTTY;
        while (self.fiber->away_cycles() == 0) {
        }
        self.seen = errno;
      },
      &job);
  ASSERT_EQ(processor.Run(fiber, rte_rdtsc()), Ended::kCut);
  errno = EBADF;
  ASSERT_EQ(processor.Run(fiber, kFar), Ended::kDone);
  EXPECT_EQ(job.seen, ENOTTY);
}

TEST(Processor, CutsNobodyIfRunawaysAreAllowed) {
  StackPool stacks(1, 64 << 10);
  Processor processor(0, kCyclesPerSecond);
  processor.Enter();
  Runaway job{2'000'000, 0};
  Fiber fiber(stacks.stack(0));
  fiber.Start(&Runaway::Body, &job);
  EXPECT_EQ(processor.Run(fiber, 0), Ended::kDone);
  EXPECT_EQ(processor.cuts(), 0u);
  processor.Leave();
}

TEST(Processor, AThousandRunawaysTakeTurnsUnderSignals) {
  // Over the run, signals interrupt every instruction of a switch. No fiber may be lost or run
  // twice.
  constexpr uint32_t kFibers = 64;
  StackPool stacks(kFibers, 64 << 10);
  Processor processor(10'000, kCyclesPerSecond);
  processor.Enter();
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Runaway> jobs(kFibers, Runaway{30'000, 0});
  const double expected = Compute(30'000);
  for (uint32_t i = 0; i < kFibers; ++i) fibers.push_back(std::make_unique<Fiber>(stacks.stack(i)));
  uint32_t done = 0;
  for (uint32_t i = 0; i < kFibers; ++i) fibers[i]->Start(&Runaway::Body, &jobs[i]);
  for (uint32_t i = 0; done < 1'000; i = (i + 1) % kFibers) {
    if (processor.Run(*fibers[i], rte_rdtsc()) != Ended::kDone) continue;
    ASSERT_EQ(jobs[i].result, expected);
    ++done;
    jobs[i].result = 0;
    fibers[i]->Start(&Runaway::Body, &jobs[i]);
  }
  processor.Leave();
}

}  // namespace
}  // namespace sluice::sched
