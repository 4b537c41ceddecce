// SPDX-License-Identifier: BSD-3-Clause
//
// The checked flags of sluice-sched.
#pragma once

#include <optional>
#include <string>

#include "runtime/command_line.h"
#include "stage.h"
#include "worker.h"

namespace sluice::sched {

struct Settings {
  PlayOptions play;
  WorkerOptions worker;
};

/// Reads the flags. If the user has given no port, `line`'s traffic becomes clients of this server,
/// or none if the workers generate the requests. Returns nullopt on a bad flag, and sets `flag` and
/// `fix`.
std::optional<Settings> ReadSettings(runtime::CommandLine* line, std::string* flag,
                                     std::string* fix);

}  // namespace sluice::sched
