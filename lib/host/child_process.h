// SPDX-License-Identifier: BSD-3-Clause
//
// Starts child processes. A child inherits only the standard streams and the given descriptors, and
// therefore cannot access DPDK's memory and sockets (CWE-403). Works without EAL. Used on the
// control path only.
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
  /// Variables, as NAME=VALUE, that are added to this process's environment or replace its
  /// variables of the same name.
  std::vector<std::string> environment = {};
  /// Open descriptors, owned by the caller. The child gets the i-th one as ChildDescriptor(i).
  std::vector<int> descriptors = {};
  /// Whether the child leads a new process group, which the terminal's SIGINT does not reach.
  bool own_group = false;
};

/// Descriptor number in the child of the i-th given descriptor.
constexpr int ChildDescriptor(size_t i) { return static_cast<int>(3 + i); }

/// Starts a program with all signals unblocked. Returns 0 and stores the child's process id in
/// `pid`, or returns an errno and leaves `pid` unchanged. The caller must wait for the child.
int Spawn(const ChildProgram& child, pid_t* pid);

/// A child process that does not outlive this object. Used by one thread, except for Signal. It can
/// be moved.
class ChildProcess {
 public:
  /// Constructs an object for a child that has already ended.
  ChildProcess() = default;
  /// Starts a program. On failure returns an object for an ended child, sets errno, and stores one
  /// line in `error`.
  static ChildProcess Start(const ChildProgram& program, std::string* error);
  /// Kills the child if it is running, and waits for it to end.
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

  /// Returns the process id until Ended returns true, then 0.
  pid_t pid() const { return pid_; }
  /// Returns true once the child has ended, and reaps it.
  bool Ended();
  /// Sends a signal. Has no effect after the child has ended. May be called by any thread.
  void Signal(int signal) const;
  /// Returns how the child ended, such as "ended by signal 9 (Killed)". Call it after Ended.
  std::string HowEnded() const;

 private:
  pid_t pid_ = 0;
  base::OwnedFd handle_;  ///< A pidfd.
  int status_ = 0;        ///< Status from waitpid(2) after the child has ended.
};

/// Returns text that a child printed, made safe for a terminal or a log by replacing every byte
/// that is not printable ASCII with '?'.
std::string PrintableText(std::string_view text);

}  // namespace sluice::host
