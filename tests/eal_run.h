// SPDX-License-Identifier: BSD-3-Clause
//
// Runs EAL in a test program. The program removes its runtime folder when it ends. When it starts,
// it removes the folders of killed programs, as the applications do.
#pragma once

#include <rte_eal.h>
#include <rte_errno.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runtime_folder.h"

namespace sluice {

/// Starts EAL in the constructor and cleans it up in the destructor.
class EalRun {
 public:
  /// Starts EAL with `arguments`, to which it adds a file prefix. `program` is argv[0].
  EalRun(std::string_view program, std::vector<std::string> arguments)
      : prefix_(runtime::FilePrefix(std::filesystem::path(program).filename().string(), getpid())) {
    arguments.emplace(arguments.begin(), program);
    arguments.push_back("--file-prefix=" + prefix_);
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    started_ = rte_eal_init(static_cast<int>(arguments.size()), words.data()) >= 0;
    if (started_) {
      runtime::SweepDeadRuns(prefix_);
    } else {
      std::fprintf(stderr, "EAL failed to start: %s\n", rte_strerror(rte_errno));
    }
  }
  ~EalRun() {
    if (started_) rte_eal_cleanup();
    runtime::RemoveOwnRun(prefix_);
  }
  EalRun(const EalRun&) = delete;
  EalRun& operator=(const EalRun&) = delete;

  bool started() const { return started_; }

 private:
  const std::string prefix_;
  bool started_ = false;
};

}  // namespace sluice
