// SPDX-License-Identifier: BSD-3-Clause
//
// How long a program without EAL runs, and where it tells of it: flags that each such program
// defines for itself, with a default of its own. Control path.
#pragma once

#include <cstdio>
#include <string>

namespace sluice::runtime {

struct RunSettings {
  double duration_s = 0;      ///< 0: until a signal, or what else ends it.
  double stats_period_s = 0;  ///< 0: no lines.
  std::string json;           ///< Path, "-" for standard output, empty for none.

  /// Where people read: not among JSON.
  std::FILE* Text() const { return json == "-" ? stderr : stdout; }
};

/// What is wrong with --duration_s, --stats_period_s or --json, which the program defines: a line
/// that names the flag and the fix, or nothing.
std::string RunFlagsComplaint();
RunSettings ReadRunFlags();

}  // namespace sluice::runtime
