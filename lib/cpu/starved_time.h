// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the time for which a thread was runnable but had no CPU. A watchdog subtracts this time
// from the elapsed time, because a thread that did not run is not at fault. Used on the control
// path only.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace sluice::cpu {

/// Watches one thread at a time. The thread may belong to any process.
class StarvedTime {
 public:
  /// Returns for how many nanoseconds a thread has waited for a CPU: since the previous call if
  /// that was for the same thread, otherwise since the thread began. Returns 0 if the thread does
  /// not exist or if the kernel does not record these times. `now_ns` must be from a clock that
  /// never decreases.
  uint64_t Since(pid_t process, pid_t thread, uint64_t now_ns) {
    const Times now = Read(process, thread);
    const bool same = process == process_ && thread == thread_;
    const Times before = same ? before_ : Times{};
    uint64_t starved = now.waited_ns - std::min(before.waited_ns, now.waited_ns);
    // The kernel counts a wait only after it has ended. A thread that does not sleep may be in such
    // a wait, so all the time during which it did not run is counted.
    if (same && now.ready) {
      const uint64_t ran = now.ran_ns - std::min(before.ran_ns, now.ran_ns);
      starved = std::max(starved, now_ns - before_ns_ - std::min(ran, now_ns - before_ns_));
    }
    process_ = process;
    thread_ = thread;
    before_ = now;
    before_ns_ = now_ns;
    return starved;
  }

 private:
  struct Times {
    uint64_t ran_ns = 0;
    uint64_t waited_ns = 0;
    bool ready = false;  ///< The thread runs or waits for a CPU.
  };

  /// See proc(5), stat and schedstat, and Documentation/scheduler/sched-stats.rst in Linux.
  static Times Read(pid_t process, pid_t thread) {
    const std::string folder =
        "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/";
    Times times;
    char state = 0;
    if (const File file = Open(folder + "schedstat");
        file == nullptr ||
        std::fscanf(file.get(), "%" SCNu64 " %" SCNu64, &times.ran_ns, &times.waited_ns) != 2)
      return {};
    // The name, in parentheses, may contain any character but is at most 64 bytes long.
    std::string text(256, '\0');
    if (const File file = Open(folder + "stat"); file != nullptr)
      text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (const size_t end = text.rfind(") "); end != text.npos && end + 2 < text.size())
      state = text[end + 2];
    times.ready = state == 'R';
    return times;
  }

  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  static File Open(const std::string& path) {
    return {std::fopen(path.c_str(), "re"), std::fclose};
  }

  pid_t process_ = 0, thread_ = 0;
  Times before_;
  uint64_t before_ns_ = 0;
};

}  // namespace sluice::cpu
