// SPDX-License-Identifier: BSD-3-Clause
//
// One command line for EAL and gflags: `sluice-X [EAL args] -- [app flags]`,
// read before EAL starts, so that a bad flag costs nothing. Called first thing
// in main().
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/flag_text.h"
#include "runtime/options.h"

namespace sluice::runtime {

/// What main() learns from its arguments.
struct CommandLine {
  std::string app;               ///< Without "sluice-".
  std::vector<std::string> eal;  ///< What the user gave to EAL, without the program's name.
  bool own_port = false;         ///< `eal` names a device.
  Options options;
};

/// Sets all flags, those that the application defines included; `own_help` is what shared ones mean
/// in it. Returns nothing
/// when the run is over already, with `exit_code` set: 0 after --help or
/// --version, 2 after a bad argument, 1 if a device is absent (one line on standard error names
/// it).
std::optional<CommandLine> ReadCommandLine(std::string_view app, std::string_view summary, int argc,
                                           char** argv, int* exit_code,
                                           TrafficFlags traffic = TrafficFlags::kOfEmbeddedNic,
                                           std::span<const OwnHelp> own_help = {});

/// For flags that an application checks itself: the first one that is wrong, and the fix.
struct Complaint {
  std::string* flag;
  std::string* fix;

  /// Returns `right`; if it is not, notes that flag `name` needs `how`.
  bool Check(bool right, std::string_view name, std::string_view how) const {
    if (right) return true;
    *flag = name;
    *fix = how;
    return false;
  }
  /// Returns whether `fault` is empty; if not, notes that it is what flag `name` has
  /// (argument_faults.h).
  bool Accept(std::string_view fault, std::string_view name) const {
    return Check(fault.empty(), name, fault);
  }
};

/// What to do about it: prints the line, returns 2.
int BadFlag(std::string_view flag, std::string_view fix);
/// The same if the flag is right and the machine lacks something now: returns 1.
int Unavailable(std::string_view flag, std::string_view fix);

}  // namespace sluice::runtime
