// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-device as a separate process that a test can kill and restart. The environment variable
// SLUICE_DEVICE contains its path.
#pragma once

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "../bound_child.h"
#include "../waiting.h"
#include "runtime/runtime_folder.h"

namespace sluice::net_ipu::test {

/// sluice-device, listening at socket(); its output goes to standard error. Start and Replace must
/// be called by the test's main thread.
class DeviceProcess {
 public:
  explicit DeviceProcess(const std::string& wire = "gen:size=64/594+flows=1000",
                         const std::string& faults = "")
      : wire_("--wire=" + wire), faults_("--faults=" + faults) {
    Start();
  }
  ~DeviceProcess() {
    if (process_ != 0) End(SIGTERM);
    std::filesystem::remove(socket_);  // A killed process does not remove its socket.
  }

  const std::string& socket() const { return socket_; }
  /// Resets the device without starting a new process.
  void Reset() { kill(process_, SIGHUP); }
  void Replace() {
    Kill();
    Start();
  }
  void Kill() { End(SIGKILL); }
  void Start() {
    std::filesystem::remove(socket_);
    std::vector<std::string> words = {std::getenv("SLUICE_DEVICE"), "--",     "--model=ipu",
                                      "--socket=" + socket_,        wire_,    "--verify=full",
                                      "--stats_period_s=0",         "--json="};
    if (faults_ != "--faults=") words.push_back(faults_);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    process_ = SpawnBoundChild(words, actions);
    posix_spawn_file_actions_destroy(&actions);
    EXPECT_TRUE(Eventually([&] { return std::filesystem::exists(socket_); }));
  }

 private:
  void End(int signal) {
    kill(process_, signal);
    int status;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    // A killed device does not remove its folder.
    runtime::RemoveOwnRun(runtime::FilePrefix("device", process_));
    process_ = 0;
  }

  const std::string wire_;
  const std::string faults_;
  const std::string socket_ = TestSocket();
  pid_t process_ = 0;
};

}  // namespace sluice::net_ipu::test
