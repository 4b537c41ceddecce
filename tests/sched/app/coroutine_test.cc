// SPDX-License-Identifier: BSD-3-Clause
#include "coroutine.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "stack_pool.h"

namespace sluice::sched {
namespace {

constexpr size_t kStackBytes = 64 << 10;

struct Counter {
  Coroutine* coroutine = nullptr;
  int steps = 0;
  int pauses = 0;
};

void Count(void* argument) {
  auto& self = *static_cast<Counter*>(argument);
  for (int i = 0; i < self.pauses; ++i) {
    ++self.steps;
    self.coroutine->Pause();
  }
  ++self.steps;
}

TEST(Coroutine, GoesOnWhereItPaused) {
  StackPool stacks(1, kStackBytes);
  Coroutine coroutine(stacks.stack(0));
  Counter counter{&coroutine, 0, 2};
  coroutine.Start(&Count, &counter);
  EXPECT_EQ(counter.steps, 0) << "Start runs nothing";
  EXPECT_FALSE(coroutine.Resume());
  EXPECT_EQ(counter.steps, 1);
  EXPECT_FALSE(coroutine.Resume());
  EXPECT_EQ(counter.steps, 2);
  EXPECT_TRUE(coroutine.Resume());
  EXPECT_EQ(counter.steps, 3);
}

TEST(Coroutine, KeepsItsLocalsWhileOthersRun) {
  constexpr int kMany = 500, kRounds = 20;
  StackPool stacks(kMany, kStackBytes);
  struct Summer {
    Coroutine* coroutine;
    uint64_t seed;
    uint64_t sum = 0;
  };
  std::vector<std::unique_ptr<Coroutine>> coroutines;
  std::vector<Summer> summers;
  for (uint32_t i = 0; i < kMany; ++i) {
    coroutines.push_back(std::make_unique<Coroutine>(stacks.stack(i)));
    summers.push_back({coroutines.back().get(), i});
  }
  for (uint32_t i = 0; i < kMany; ++i) {
    coroutines[i]->Start(
        [](void* argument) {
          auto& self = *static_cast<Summer*>(argument);
          uint64_t numbers[64];
          for (uint64_t& number : numbers) number = self.seed;
          for (int round = 0; round < kRounds; ++round) {
            self.coroutine->Pause();
            for (uint64_t& number : numbers) ++number;
          }
          self.sum = std::accumulate(std::begin(numbers), std::end(numbers), uint64_t{0});
        },
        &summers[i]);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (auto& coroutine : coroutines) EXPECT_FALSE(coroutine->Resume());
  }
  for (uint32_t i = 0; i < kMany; ++i) {
    EXPECT_TRUE(coroutines[i]->Resume());
    EXPECT_EQ(summers[i].sum, 64 * (i + uint64_t{kRounds}));
  }
}

TEST(Coroutine, StartsAnewOnTheSameStackAsOftenAsOneLikes) {
  StackPool stacks(1, kStackBytes);
  Coroutine coroutine(stacks.stack(0));
  Counter counter{&coroutine, 0, 0};
  for (int i = 1; i <= 10'000; ++i) {
    coroutine.Start(&Count, &counter);
    ASSERT_TRUE(coroutine.Resume());
    ASSERT_EQ(counter.steps, i);
  }
}

TEST(Coroutine, IsForgottenIfItIsStartedAnewBeforeItsEnd) {
  StackPool stacks(1, kStackBytes);
  Coroutine coroutine(stacks.stack(0));
  Counter first{&coroutine, 0, 5}, second{&coroutine, 0, 0};
  coroutine.Start(&Count, &first);
  EXPECT_FALSE(coroutine.Resume());
  coroutine.Start(&Count, &second);
  EXPECT_TRUE(coroutine.Resume());
  EXPECT_EQ(first.steps, 1);
  EXPECT_EQ(second.steps, 1);
}

TEST(Coroutine, GoesOnInAnotherThread) {
  StackPool stacks(1, kStackBytes);
  Coroutine coroutine(stacks.stack(0));
  Counter counter{&coroutine, 0, 2};
  coroutine.Start(&Count, &counter);
  for (int i = 0; i < 3; ++i) {
    std::thread([&] { coroutine.Resume(); }).join();
    EXPECT_EQ(counter.steps, i + 1);
  }
}

TEST(Coroutine, HasARoundingModeOfItsOwn) {
  // The System V ABI requires functions to preserve the control bits of MXCSR and of the x87.
  StackPool stacks(1, kStackBytes);
  Coroutine coroutine(stacks.stack(0));
  coroutine.Start(
      [](void* argument) {
        std::fesetround(FE_UPWARD);
        static_cast<Coroutine*>(argument)->Pause();
        EXPECT_EQ(std::fegetround(), FE_UPWARD);
        std::fesetround(FE_TONEAREST);
      },
      &coroutine);
  coroutine.Resume();
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  coroutine.Resume();
}

TEST(StackPool, StacksDoNotOverlapAndAreAsLargeAsAskedFor) {
  StackPool stacks(3, 10'000);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_GE(stacks.stack(i).size(), 10'000u);
    std::memset(stacks.stack(i).data(), static_cast<int>(i + 1), stacks.stack(i).size());
  }
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(stacks.stack(i).front(), std::byte(i + 1));
    EXPECT_EQ(stacks.stack(i).back(), std::byte(i + 1));
  }
}

// Uses half a kilobyte of stack on each of `levels` levels.
[[gnu::noinline]] int Descend(int levels) {
  volatile char frame[512];
  frame[0] = static_cast<char>(levels);
  return levels == 0 ? 0 : Descend(levels - 1) + frame[0];
}

TEST(StackPool, AStackThatOverflowsEndsTheProcessBeforeItReachesItsNeighbour) {
  StackPool stacks(2, kStackBytes);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV,
           SIG_DFL);  // Otherwise, a sanitizer would handle the signal and exit with a different
                      // status.
    std::memset(stacks.stack(0).data(), 7, stacks.stack(0).size());
    Coroutine coroutine(stacks.stack(1));
    coroutine.Start([](void*) { Descend(2 * kStackBytes / 512); }, nullptr);
    coroutine.Resume();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

TEST(StackPool, SaysWhatTheMachineCannotGive) {
  EXPECT_THROW(StackPool(1u << 31, size_t{1} << 32), std::system_error);
}

}  // namespace
}  // namespace sluice::sched
