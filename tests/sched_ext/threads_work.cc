// SPDX-License-Identifier: BSD-3-Clause
//
// threads_work ROUNDS: work of many threads and processes, whose result shows whether any was lost.
// Eight threads hand a token around ROUNDS times, each after some computation; every 16th round
// also waits for a child process that computes. Prints the sum of all results.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace {

constexpr int kThreads = 8;
constexpr int kRoundsPerChild = 16;

uint64_t Compute(uint64_t seed) {
  for (int i = 0; i < 2000; ++i) seed = seed * 6364136223846793005 + 1442695040888963407;
  return seed;
}

class Ring {
 public:
  explicit Ring(int rounds) : steps_(rounds * kThreads) {}

  void Run(int thread) {
    for (int step = thread; step < steps_; step += kThreads) {
      std::unique_lock lock(mutex_);
      passed_.wait(lock, [&] { return next_ == step; });
      sum_ = Compute(sum_ + static_cast<uint64_t>(step));
      if (step % (kThreads * kRoundsPerChild) == 0) sum_ += ChildsResult(step);
      ++next_;
      passed_.notify_all();
    }
  }
  uint64_t sum() const { return sum_; }

 private:
  static uint64_t ChildsResult(int step) {
    const pid_t child = fork();
    if (child == 0) _exit(static_cast<int>(Compute(static_cast<uint64_t>(step)) & 0x7f));
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) std::abort();
    return static_cast<uint64_t>(WEXITSTATUS(status));
  }

  const int steps_;
  std::mutex mutex_;
  std::condition_variable passed_;
  int next_ = 0;
  uint64_t sum_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Ring ring(std::atoi(argv[1]));
  std::array<std::thread, kThreads> threads;
  for (int i = 0; i < kThreads; ++i) threads[i] = std::thread([&ring, i] { ring.Run(i); });
  for (std::thread& thread : threads) thread.join();
  std::printf("sum %llu\n", static_cast<unsigned long long>(ring.sum()));
}
