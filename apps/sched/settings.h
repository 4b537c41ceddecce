// SPDX-License-Identifier: BSD-3-Clause
//
// The checked flags of sluice-sched.
#pragma once

#include <optional>
#include <string>

#include "runtime/command_line.h"
#include "stage.h"
#include "thread_run.h"
#include "worker.h"

namespace sluice::sched {

struct Settings {
  PlayOptions play;
  WorkerOptions worker;
  /// Set for --host=sched_ext; the other members are unused then.
  std::optional<ThreadRunOptions> threads;
};

/// Reads the flags. If the user has not named a port, the traffic in `line` is set to clients of
/// this server, or to none if the workers generate the requests. On an invalid flag, returns
/// nullopt and sets `flag` and `fix`.
std::optional<Settings> ReadSettings(runtime::CommandLine* line, std::string* flag,
                                     std::string* fix);

}  // namespace sluice::sched
