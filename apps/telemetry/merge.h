// SPDX-License-Identifier: BSD-3-Clause
//
// Instead of a run: epochs of several nodes, out of files, as one (--merge).
#pragma once

#include <string>
#include <vector>

#include "runtime/command_line.h"
#include "settings.h"

namespace sluice::telemetry {

/// Merges the files, prints the report, and writes it to where --json and --export_… say, with all
/// counters, too, for merging again. Returns the exit code; what is wrong has been said.
int RunMerge(const std::vector<std::string>& files, const runtime::CommandLine& line,
             Settings settings);

}  // namespace sluice::telemetry
