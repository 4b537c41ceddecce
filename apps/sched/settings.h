// SPDX-License-Identifier: BSD-3-Clause
//
// What the flags of sluice-sched say, checked.
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

/// Reads the flags. Without a port of the user's own, `line`'s traffic becomes clients of this
/// server, or there is none because workers make their requests up themselves. On a bad flag
/// returns nothing, with its name and the fix.
std::optional<Settings> ReadSettings(runtime::CommandLine* line, std::string* flag,
                                     std::string* fix);

}  // namespace sluice::sched
