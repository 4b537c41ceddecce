// SPDX-License-Identifier: BSD-3-Clause
#include "cpu/starved_time.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <thread>

#include "cpu/process_patience.h"
#include "one_cpu.h"

namespace sluice::cpu {
namespace {

void PinToOneCpu() {
  const cpu_set_t one = FirstAllowedCpu();
  pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

uint64_t CpuNs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t WallNs() { return CpuNs(CLOCK_MONOTONIC); }

void Spin(uint64_t ns) {
  for (const uint64_t end = CpuNs(CLOCK_THREAD_CPUTIME_ID) + ns;
       CpuNs(CLOCK_THREAD_CPUTIME_ID) < end;) {
  }
}

/// A thread that either sleeps or runs whenever its CPU is idle.
class Watched {
 public:
  explicit Watched(bool sleeps)
      : thread_([this, sleeps] {
          PinToOneCpu();
          const sched_param none{};
          if (!sleeps) pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
          id_ = gettid();
          while (!stop_)
            if (sleeps) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }) {
    while (id_ == 0) std::this_thread::yield();
  }
  ~Watched() {
    stop_ = true;
    thread_.join();
  }
  pid_t id() const { return id_; }

 private:
  std::atomic<pid_t> id_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// Returns the starved time of the thread while another thread uses its CPU for 100 ms.
uint64_t Starved(const Watched& watched) {
  StarvedTime time;
  time.Since(getpid(), watched.id(), WallNs());
  std::thread([] {
    PinToOneCpu();
    Spin(100'000'000);
  }).join();
  return time.Since(getpid(), watched.id(), WallNs());
}

TEST(StarvedTime, IsWhatAReadyThreadWaits) {
  const Watched spins(false);
  EXPECT_GT(Starved(spins), 50'000'000u);
}

TEST(StarvedTime, DoesNotContainWhatAThreadRuns) {
  StarvedTime own;
  const uint64_t begin = WallNs();
  own.Since(getpid(), gettid(), begin);
  Spin(50'000'000);
  const uint64_t wall = WallNs() - begin;
  // This thread may have waited for a CPU, but it ran for about 50 ms.
  EXPECT_LE(own.Since(getpid(), gettid(), begin + wall), wall - 40'000'000);
}

TEST(StarvedTime, DoesNotContainWhatAThreadSleeps) {
  const Watched sleeps(true);
  // A thread on a busy machine may wait for its CPU after each wakeup.
  uint64_t least = ~uint64_t{0};
  for (int i = 0; i < 20 && least > 50'000'000; ++i) {
    StarvedTime time;
    time.Since(getpid(), sleeps.id(), WallNs());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    least = std::min(least, time.Since(getpid(), sleeps.id(), WallNs()));
  }
  EXPECT_LE(least, 50'000'000u);
}

TEST(StarvedTime, IsZeroForAThreadOfNoProcess) {
  StarvedTime time;
  EXPECT_EQ(time.Since(getpid(), 1 << 30, 1), 0u);
  EXPECT_EQ(time.Since(1 << 30, 1, 2), 0u);
}

constexpr std::chrono::milliseconds kBound{200};

/// Returns how many bounds ProcessPatience waits for a process that makes no progress.
double BoundsOf(pid_t process) {
  ProcessPatience patience(kBound);
  const auto begin = ProcessPatience::Clock::now();
  do {
    std::this_thread::sleep_until(patience.deadline());
  } while (!patience.Ends(process));
  return std::chrono::duration<double>(ProcessPatience::Clock::now() - begin) / kBound;
}

TEST(ProcessPatience, IsTheBoundForAProcessThatIsNotKnown) {
  EXPECT_GE(BoundsOf(0), 1);
  EXPECT_GE(BoundsOf(1 << 30), 1);
}

TEST(ProcessPatience, LastsLongerForAProcessThatStarves) {
  const StarvedChild child;
  EXPECT_GE(BoundsOf(child.process()), ProcessPatience::kMostBounds);
}

// The process sleeps, but a busy machine may also starve it for a while.
TEST(ProcessPatience, IsHalfABoundMoreForAProcessThatSleeps) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  double least = ProcessPatience::kMostBounds;
  for (int i = 0; i < 20 && least > 2; ++i) least = std::min(least, BoundsOf(child));
  EXPECT_GE(least, 1.5);
  EXPECT_LE(least, 2);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace sluice::cpu
