// SPDX-License-Identifier: BSD-3-Clause
#include "stores.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sluice::exhaustive {
namespace {

constexpr int kCannotTrace = 77;

}  // namespace

std::optional<std::vector<Snapshot>> AfterEachStore(std::span<const uint8_t> memory,
                                                    const std::function<void()>& work,
                                                    std::string* error) {
  std::vector<Snapshot> snapshots;
  Snapshot last(memory.begin(), memory.end());
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kCannotTrace);
    raise(SIGSTOP);
    work();
    _exit(0);
  }
  if (child < 0) {
    *error = std::string("fork: ") + std::strerror(errno);
    return std::nullopt;
  }
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, 0) != child) {
      *error = std::string("waitpid: ") + std::strerror(errno);
      return std::nullopt;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return snapshots;
    const bool stopped =
        WIFSTOPPED(status) && (WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGSTOP);
    if (!stopped) {
      *error = WIFEXITED(status) && WEXITSTATUS(status) == kCannotTrace
                   ? "ptrace is not permitted"
                   : "the process did not end by itself: status " + std::to_string(status);
      if (WIFSTOPPED(status)) kill(child, SIGKILL), waitpid(child, nullptr, 0);
      return std::nullopt;
    }
    if (std::memcmp(last.data(), memory.data(), memory.size()) != 0) {
      last.assign(memory.begin(), memory.end());
      snapshots.push_back(last);
    }
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) {
      *error = std::string("single step: ") + std::strerror(errno);
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      return std::nullopt;
    }
  }
}

}  // namespace sluice::exhaustive
