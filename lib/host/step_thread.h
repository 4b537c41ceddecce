// SPDX-License-Identifier: BSD-3-Clause
//
// A thread that steps one object until it is destroyed, and runs commands between two steps.
#pragma once

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "cpu/clock.h"

namespace sluice::host {

/// Backs off after steps without work: first pauses the CPU, then yields, then sleeps for
/// increasing times. Sleeping matters if there are more pollers than CPUs: a thread that only
/// yields waits for a time slice of every other thread, whereas a sleeping thread is woken
/// immediately.
class SleepingIdle {
 public:
  /// Lowers the timer slack of the calling thread to 1 us from the default of 50 us, so that sleeps
  /// end on time.
  SleepingIdle() { prctl(PR_SET_TIMERSLACK, 1'000); }
  void Worked() { steps_ = 0; }
  void Wait() {
    if (++steps_ < kPauses) {
      cpu::Pause();
    } else if (steps_ < kYields) {
      std::this_thread::yield();
    } else {
      const timespec nap{0, std::min(kNapNs << (steps_ - kYields), kLongestNapNs)};
      nanosleep(&nap, nullptr);
      steps_ = std::min(steps_, kYields + 16);
    }
  }

 private:
  static constexpr uint32_t kPauses = 64;
  static constexpr uint32_t kYields = kPauses + 8;
  /// The first sleep. Each further sleep is twice as long, up to kLongestNapNs.
  static constexpr int64_t kNapNs = 5'000;
  static constexpr int64_t kLongestNapNs = 100'000;
  uint32_t steps_ = 0;
};

/// Polls without pauses, and yields the CPU only after every 1,000 steps without work, for the
/// shortest reaction time.
class YieldingIdle {
 public:
  void Worked() { steps_ = 0; }
  void Wait() {
    if (++steps_ % kSteps == 0) std::this_thread::yield();
  }

 private:
  static constexpr uint32_t kSteps = 1'000;
  uint32_t steps_ = 0;
};

template <typename Idle = SleepingIdle>
class StepThread {
 public:
  /// Calls `step()` until destruction. `step()` returns false when there was nothing to do.
  template <typename Step>
  explicit StepThread(Step step)
      : thread_([this, step = std::move(step)]() mutable { Run(step); }) {
    tid_.wait(0);
  }
  ~StepThread() {
    stop_ = true;
    thread_.join();
  }
  StepThread(const StepThread&) = delete;
  StepThread& operator=(const StepThread&) = delete;

  /// Runs `command` between two steps, and returns when it is done. Only one thread at a time may
  /// call it, and the stepping thread must not call it.
  void Do(const std::function<void()>& command) {
    std::unique_lock lock(mutex_);
    command_ = &command;
    waiting_.store(true, std::memory_order_release);
    done_.wait(lock, [&] { return command_ == nullptr; });
  }
  /// Returns the CPU time in ns that the thread has used.
  uint64_t CpuNs() {
    clockid_t clock;
    timespec used{};
    if (pthread_getcpuclockid(thread_.native_handle(), &clock) == 0) clock_gettime(clock, &used);
    return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
  }
  /// Returns the Linux thread id.
  pid_t tid() const { return tid_; }

 private:
  template <typename Step>
  void Run(Step& step) {
    tid_ = gettid();
    tid_.notify_all();
    Idle idle;
    while (!stop_.load(std::memory_order_relaxed)) {
      if (step()) {
        idle.Worked();
      } else {
        idle.Wait();
      }
      if (!waiting_.load(std::memory_order_acquire)) continue;
      {
        const std::scoped_lock lock(mutex_);
        waiting_.store(false, std::memory_order_relaxed);
        (*command_)();
        command_ = nullptr;
      }
      done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable done_;
  const std::function<void()>* command_ = nullptr;
  std::atomic<bool> waiting_{false};
  std::atomic<bool> stop_{false};
  std::atomic<pid_t> tid_{0};
  std::thread thread_;  // Declared last, because the thread uses the other members.
};

}  // namespace sluice::host
