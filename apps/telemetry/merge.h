// SPDX-License-Identifier: BSD-3-Clause
//
// --merge: combines the epoch files of several nodes into one epoch. The program then does not
// count packets.
#pragma once

#include <string>
#include <vector>

#include "runtime/command_line.h"
#include "settings.h"

namespace sluice::telemetry {

/// Merges the files, prints the report, and writes it to the destinations of --json and --export_…,
/// including all counters for further merges. Prints errors. Returns the exit code.
int RunMerge(const std::vector<std::string>& files, const runtime::CommandLine& line,
             Settings settings);

}  // namespace sluice::telemetry
