// SPDX-License-Identifier: BSD-3-Clause
//
// Duration and output of a run. lib/runtime defines the flags for programs with EAL. Other programs
// define them themselves, with other defaults. Used on the control path only.
#pragma once

#include <cstdio>
#include <string>

namespace sluice::host {

struct RunSettings {
  double duration_s = 0;      ///< 0: until a signal or another event ends the run.
  double stats_period_s = 0;  ///< 0: no statistics lines.
  std::string json;           ///< Path, "-" for standard output, empty for none.

  /// Returns the stream for text output. It differs from the stream for JSON.
  std::FILE* Text() const { return json == "-" ? stderr : stdout; }
  /// Writes `text` to that stream at once.
  void Print(const std::string& text) const {
    std::fputs(text.c_str(), Text());
    std::fflush(Text());
  }
};

/// For programs without EAL: checks --duration_s, --stats_period_s and --json, which the program
/// defines. Returns a line that names the bad flag and the fix, or an empty string if all are
/// valid.
std::string RunFlagsComplaint();
RunSettings ReadRunFlags();

}  // namespace sluice::host
