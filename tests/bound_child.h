// SPDX-License-Identifier: BSD-3-Clause
//
// Starts child processes that end with the test, even if it crashes.
#pragma once

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace sluice {

/// Starts the program `words[0]` with arguments `words[1]` and so on. The child is killed when the
/// calling thread ends (PR_SET_PDEATHSIG, set by setpriv of util-linux, which then executes the
/// program).
inline pid_t SpawnBoundChild(const std::vector<std::string>& words,
                             const posix_spawn_file_actions_t& actions) {
  std::vector<std::string> command = {"setpriv", "--pdeathsig", "KILL", "--"};
  command.insert(command.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  EXPECT_EQ(posix_spawnp(&process, "setpriv", &actions, nullptr, arguments.data(), environ), 0);
  return process;
}

}  // namespace sluice
