// SPDX-License-Identifier: BSD-3-Clause
//
// Starts child processes. A child inherits the standard streams and the given descriptors, and no
// other descriptor: the memory and the sockets of DPDK stay with the parent (CWE-403). Works
// without EAL. Used on the control path only.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/owned_fd.h"

namespace sluice::host {

/// A program to start, with its arguments, environment and descriptors.
struct ChildProgram {
  /// A path, or a name without '/' that is searched for in PATH.
  std::string program;
  /// The arguments after the program's name.
  std::vector<std::string> arguments = {};
  /// Variables, as NAME=VALUE, that are added to this process's environment or replace variables of
  /// the same name.
  std::vector<std::string> environment = {};
  /// Open descriptors, which the caller owns. The i-th is ChildDescriptor(i) in the child.
  std::vector<int> descriptors = {};
  /// Whether the child leads a new process group, which the terminal's SIGINT does not reach.
  bool own_group = false;
};

/// Number of the i-th given descriptor in the child.
constexpr int ChildDescriptor(size_t i) { return static_cast<int>(3 + i); }

/// Starts a program with all signals unblocked. Returns 0 and stores the child's id in `pid`, or
/// returns an errno and does not change `pid`. The caller waits for the child.
int Spawn(const ChildProgram& child, pid_t* pid);

/// A child that does not outlive its owner. Used by one thread, except Signal. It can be moved.
class ChildProcess {
 public:
  /// Constructs a child that has ended.
  ChildProcess() = default;
  /// Starts a program. On failure returns a child that has ended, sets errno, and stores one line
  /// in `error`.
  static ChildProcess Start(const ChildProgram& program, std::string* error);
  /// Kills the child, if it runs, and waits for its end.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)),
        handle_(std::move(other.handle_)),
        status_(other.status_) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(handle_, other.handle_);
    std::swap(status_, other.status_);
    return *this;
  }

  /// Returns the process id, which is valid until Ended returns true; then 0.
  pid_t pid() const { return pid_; }
  /// Returns true once the child has ended, and reaps it.
  bool Ended();
  /// Sends a signal; has no effect after the end. May be called by any thread.
  void Signal(int signal) const;
  /// Returns how the child ended, such as "ended by signal 9 (Killed)". Call it after Ended.
  std::string HowEnded() const;

 private:
  pid_t pid_ = 0;
  base::OwnedFd handle_;  ///< A pidfd.
  int status_ = 0;        ///< waitpid(2)'s status after the end.
};

/// Returns text that a child printed, made safe for a terminal or a log: every byte that is not
/// printable ASCII becomes '?'.
std::string PrintableText(std::string_view text);

}  // namespace sluice::host
