// SPDX-License-Identifier: BSD-3-Clause
#include "host/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/owned_fd.h"

extern char** environ;

namespace sluice::host {
namespace {

/// Returns pointers to the words, followed by a null pointer.
std::vector<char*> Pointers(std::span<const std::string> words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentWith(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view inherited = *entry;
    const std::string_view name = inherited.substr(0, inherited.find('=') + 1);
    if (std::ranges::none_of(added, [&](const std::string& own) { return own.starts_with(name); }))
      all.emplace_back(inherited);
  }
  return all;
}

}  // namespace

int Spawn(const ChildProgram& child, pid_t* pid) {
  // Duplicates the descriptors to numbers above all those that the child will use, so that dup2
  // never overwrites a descriptor that is still to be copied.
  const int first_unused = ChildDescriptor(child.descriptors.size());
  std::vector<base::OwnedFd> copies;
  for (const int descriptor : child.descriptors) {
    copies.emplace_back(fcntl(descriptor, F_DUPFD_CLOEXEC, first_unused));
    if (!copies.back()) return errno;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (size_t i = 0; i < copies.size(); ++i)
    posix_spawn_file_actions_adddup2(&actions, copies[i].fd(), ChildDescriptor(i));
  posix_spawn_file_actions_addclosefrom_np(&actions, first_unused);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           static_cast<short>(POSIX_SPAWN_SETSIGMASK |  // NOLINT
                                              (child.own_group ? POSIX_SPAWN_SETPGROUP : 0)));

  std::vector<std::string> words = {child.program};
  words.insert(words.end(), child.arguments.begin(), child.arguments.end());
  const std::vector<std::string> environment = EnvironmentWith(child.environment);
  pid_t started = 0;
  const int failed = posix_spawnp(&started, child.program.c_str(), &actions, &attributes,
                                  Pointers(words).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) *pid = started;
  return failed;
}

ChildProcess ChildProcess::Start(const ChildProgram& program, std::string* error) {
  ChildProcess child;
  int failed = Spawn(program, &child.pid_);
  if (failed != 0) {
    *error = program.program + ": " + std::strerror(failed);
    errno = failed;
    return child;
  }
  child.handle_ = base::OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, child.pid_, 0)));
  if (child.handle_) return child;
  failed = errno;
  *error = program.program + ": pidfd_open: " + std::strerror(failed);
  kill(child.pid_, SIGKILL);  // The process id cannot be reused before waitpid.
  waitpid(std::exchange(child.pid_, 0), nullptr, 0);
  errno = failed;
  return child;
}

ChildProcess::~ChildProcess() {
  if (pid_ == 0) return;
  Signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool ChildProcess::Ended() {
  if (pid_ == 0) return true;
  if (waitpid(pid_, &status_, WNOHANG) != pid_) return false;
  pid_ = 0;
  return true;
}

void ChildProcess::Signal(int signal) const {
  syscall(SYS_pidfd_send_signal, handle_.fd(), signal, nullptr, 0);
}

std::string ChildProcess::HowEnded() const {
  if (!WIFSIGNALED(status_)) return "ended with exit code " + std::to_string(WEXITSTATUS(status_));
  return "ended by signal " + std::to_string(WTERMSIG(status_)) + " (" +
         strsignal(WTERMSIG(status_)) + ")";
}

std::string PrintableText(std::string_view text) {
  std::string printable(text);
  std::ranges::replace_if(
      printable, [](char c) { return c < ' ' || c > '~'; }, '?');
  return printable;
}

}  // namespace sluice::host
