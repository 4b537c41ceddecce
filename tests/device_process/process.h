// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-device in a separate process.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <string>
#include <utility>

#include "../bound_child.h"
#include "device.h"
#include "emulator/channel.h"
#include "runtime/runtime_folder.h"

namespace sluice::emulator {

/// Path of sluice-device. Set by main().
inline std::string device_binary;
/// Number of rounds of each attack. Set by main().
inline int attack_rounds = 3;

class Process {
 public:
  explicit Process(std::string socket = TestSocket()) : socket_(std::move(socket)) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1 /* O_WRONLY */, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
    pid_ = SpawnBoundChild(
        {device_binary, "--socket=" + socket_, "--wire=gen:rate=10k", "--stats_period_s=0"},
        actions);
    posix_spawn_file_actions_destroy(&actions);
    std::string error;
    EXPECT_TRUE(Eventually([&] { return static_cast<bool>(Connect(socket_, {}, &error)); }))
        << error;
  }
  ~Process() { End(SIGTERM); }

  const std::string& socket() const { return socket_; }
  pid_t pid() const { return pid_; }
  bool Runs() const { return waitpid(pid_, nullptr, WNOHANG) == 0; }
  void Signal(int signal) const { kill(pid_, signal); }
  /// Returns only after all threads of the process have stopped, which takes some time.
  void Freeze() const {
    Signal(SIGSTOP);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED);
  }
  /// Ends the process with `signal` and removes its files. Returns its exit code, or -1 if it did
  /// not exit normally.
  int End(int signal) {
    if (pid_ == 0) return -1;
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    // A killed device does not remove its folder.
    runtime::RemoveOwnRun(runtime::FilePrefix("device", pid_));
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  const std::string socket_;
  pid_t pid_ = 0;
};

}  // namespace sluice::emulator
