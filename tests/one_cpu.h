// SPDX-License-Identifier: BSD-3-Clause
//
// Threads and processes that compete for one CPU.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

/// Returns a set that contains only the first CPU on which the calling thread may run.
inline cpu_set_t FirstAllowedCpu() {
  cpu_set_t allowed, first;
  sched_getaffinity(0, sizeof allowed, &allowed);
  CPU_ZERO(&first);
  for (int cpu = 0; CPU_COUNT(&first) == 0; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &first);
  return first;
}

/// A runnable process that does not get a CPU: it has SCHED_IDLE on the first CPU, where a thread
/// of this process always runs.
class StarvedChild {
 public:
  StarvedChild() : process_(fork()) {
    if (process_ == 0) {
      Pin();
      const sched_param none{};
      pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
      for (;;) {
      }
    }
    other_ = std::thread([this] {
      Pin();
      while (!stop_) {
      }
    });
  }
  StarvedChild(const StarvedChild&) = delete;
  ~StarvedChild() {
    stop_ = true;
    other_.join();
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  pid_t process() const { return process_; }

 private:
  static void Pin() {
    const cpu_set_t first = FirstAllowedCpu();
    pthread_setaffinity_np(pthread_self(), sizeof first, &first);
  }

  const pid_t process_;
  std::atomic<bool> stop_{false};
  std::thread other_;
};
