// SPDX-License-Identifier: BSD-3-Clause
//
// Limits the wait for a process. The limit is extended while a thread of the process is runnable
// but has no CPU, because that delay is not the process's fault. Used on the control path only.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include "cpu/starved_time.h"

namespace sluice::cpu {

/// The wait for one process. Used by one thread. Only Ends() allocates memory.
class ProcessPatience {
 public:
  using Clock = std::chrono::steady_clock;

  /// Maximum wait for a process without a CPU, as a multiple of the bound.
  static constexpr int kMostBounds = 5;

  /// Starts a wait that is limited to `bound`.
  explicit ProcessPatience(Clock::duration bound) : bound_(bound) { Begin(); }

  /// Restarts the wait, because the process has made progress.
  void Begin() {
    begin_ = Clock::now();
    deadline_ = begin_ + bound_;
    threads_.clear();
  }
  /// Returns the time before which Ends returns false.
  Clock::time_point deadline() const { return deadline_; }
  /// Returns whether the wait must end. At the first deadline, returns false and watches the
  /// process for another half of the bound. Repeats this as long as, in each such period, some
  /// thread of the process had no CPU for three quarters of the time. The wait never exceeds
  /// kMostBounds times the bound, and ends at the first deadline if `process` is 0 (unknown) or
  /// does not exist.
  bool Ends(pid_t process) {
    const Clock::time_point now = Clock::now();
    if (now < deadline_) return false;
    const bool first = threads_.empty();
    const uint64_t starved = Look(process, now);
    if (threads_.empty() || now - begin_ >= kMostBounds * bound_) return true;
    if (!first && 4 * std::chrono::nanoseconds(starved) < 3 * (bound_ / 2)) return true;
    deadline_ = now + bound_ / 2;
    return false;
  }

 private:
  /// Maximum number of threads that are watched.
  static constexpr size_t kMostThreads = 64;

  /// Returns for how many nanoseconds since the last call the most delayed thread was runnable but
  /// had no CPU.
  uint64_t Look(pid_t process, Clock::time_point now) {
    if (process <= 0) return 0;
    const auto now_ns = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count());
    uint64_t most = 0;
    std::error_code gone;
    std::filesystem::directory_iterator tasks("/proc/" + std::to_string(process) + "/task", gone);
    for (const std::filesystem::directory_iterator end; !gone && tasks != end;
         tasks.increment(gone)) {
      const pid_t thread = std::stoi(tasks->path().filename());
      const auto [known, is_new] = threads_.try_emplace(thread);
      const uint64_t starved = known->second.Since(process, thread, now_ns);
      if (!is_new) most = std::max(most, starved);
      if (threads_.size() == kMostThreads) break;
    }
    return most;
  }

  const Clock::duration bound_;
  Clock::time_point begin_, deadline_;
  std::map<pid_t, StarvedTime> threads_;  ///< Empty before the first deadline.
};

}  // namespace sluice::cpu
