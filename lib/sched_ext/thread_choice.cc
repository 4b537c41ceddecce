// SPDX-License-Identifier: BSD-3-Clause
#include "sched_ext/thread_choice.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>

namespace sluice::sched_ext {
namespace {

namespace fs = std::filesystem;

constexpr int kSchedExt = 7;  // SCHED_EXT of linux/sched.h.
constexpr char kCgroupThreads[] = "cgroup.threads";
constexpr size_t kMaxNameBytes = 15;  // The kernel's TASK_COMM_LEN, without the NUL.

// Calls visit(number) for each entry of a folder whose name is a number. The folder may vanish.
template <typename V>
void ForEachNumber(const fs::path& folder, V&& visit) {
  std::error_code gone;
  for (fs::directory_iterator i(folder, gone), end; !gone && i != end; i.increment(gone)) {
    const std::string name = i->path().filename();
    ThreadId number = 0;
    const auto [last, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && last == name.data() + name.size()) visit(number);
  }
}

fs::path TasksOf(ThreadId process) { return fs::path("/proc") / std::to_string(process) / "task"; }

int Move(std::span<const ThreadId> threads, int from, int to) {
  int moved = 0;
  for (const ThreadId thread : threads) {
    const auto id = static_cast<pid_t>(thread);
    if (sched_getscheduler(id) != from) continue;
    const sched_param none{};
    if (sched_setscheduler(id, to, &none) == 0) {
      ++moved;
    } else if (errno == EPERM) {
      return -1;
    }
  }
  return moved;
}

}  // namespace

std::string ProcessFault(ThreadId process) {
  if (process == static_cast<ThreadId>(getpid())) return "give another process";
  if (process != 0 && !fs::exists(TasksOf(process))) return "give a process that is running";
  return "";
}

std::string CgroupFault(const std::string& cgroup) {
  if (cgroup.empty() || fs::exists(fs::path(cgroup) / kCgroupThreads)) return "";
  return "give a folder of a mounted cgroup v2";
}

std::string NameFault(const std::string& name) {
  return name.size() <= kMaxNameBytes ? "" : "give at most 15 characters";
}

std::vector<ThreadId> Find(const ThreadChoice& choice) {
  std::vector<ThreadId> found;
  const auto add = [&](ThreadId thread) { found.push_back(thread); };
  if (choice.process != 0) ForEachNumber(TasksOf(choice.process), add);
  if (!choice.cgroup.empty()) {
    std::ifstream threads(fs::path(choice.cgroup) / kCgroupThreads);
    for (ThreadId thread; threads >> thread;) found.push_back(thread);
  }
  if (!choice.name.empty()) {
    ForEachNumber("/proc", [&](ThreadId process) {
      ForEachNumber(TasksOf(process), [&](ThreadId thread) {
        std::ifstream comm(TasksOf(process) / std::to_string(thread) / "comm");
        std::string name;
        if (std::getline(comm, name) && name == choice.name) found.push_back(thread);
      });
    });
  }
  const auto self = static_cast<ThreadId>(getpid());
  std::erase_if(
      found, [&](ThreadId thread) { return fs::exists(TasksOf(self) / std::to_string(thread)); });
  return found;
}

int MoveIntoClass(std::span<const ThreadId> threads) {
  return Move(threads, SCHED_OTHER, kSchedExt);
}
int MoveOutOfClass(std::span<const ThreadId> threads) {
  return Move(threads, kSchedExt, SCHED_OTHER);
}

}  // namespace sluice::sched_ext
