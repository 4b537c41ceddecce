// SPDX-License-Identifier: BSD-3-Clause
//
// One command line for EAL and gflags: `sluice-X [EAL args] -- [app flags]`. It is read before EAL
// starts, so that a bad flag is reported at once. main() must call ReadCommandLine first.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/flag_text.h"
#include "runtime/options.h"

namespace sluice::runtime {

/// The parsed command line of an application.
struct CommandLine {
  std::string app;               ///< Name without "sluice-".
  std::vector<std::string> eal;  ///< The user's EAL arguments, without the program name.
  bool own_port = false;         ///< Whether `eal` names a device.
  Options options;
  /// Called once the port and its addresses are known, before the port is started. Returns an
  /// object that the session destroys after its run, or null, with one line in `error`, if the run
  /// cannot start. May be empty.
  std::function<std::shared_ptr<void>(uint16_t port, const packet::OwnAddresses& own,
                                      std::string* error)>
      prepare = nullptr;
};

/// Sets all flags, including those that the application defines. `own_help` describes shared flags
/// that have another meaning in this application. Returns nullopt if the program must end with
/// `exit_code`: 0 after --help, --version or --list, 2 after a bad argument, or 1 if a device is
/// absent. In the last case, one line on standard error names the device.
std::optional<CommandLine> ReadCommandLine(std::string_view app, std::string_view summary, int argc,
                                           char** argv, int* exit_code,
                                           TrafficFlags traffic = TrafficFlags::kOfEmbeddedNic,
                                           std::span<const host::OwnHelp> own_help = {});

/// Result of an application's flag checks: the wrong flag and the fix. The caller must stop at the
/// first failed check.
struct Complaint {
  std::string* flag;
  std::string* fix;

  /// Returns `right`. If it is false, stores the flag `name` and the fix `how`.
  bool Check(bool right, std::string_view name, std::string_view how) const {
    if (right) return true;
    *flag = name;
    *fix = how;
    return false;
  }
  /// Returns whether `fault` (argument_faults.h) is empty. If not, stores `name` as the flag and
  /// `fault` as the fix.
  bool Accept(std::string_view fault, std::string_view name) const {
    return Check(fault.empty(), name, fault);
  }
};

/// Prints the error line for a bad flag and returns exit code 2.
int BadFlag(std::string_view flag, std::string_view fix);
/// Like BadFlag, but for a valid flag that the machine currently cannot satisfy. Returns exit code
/// 1.
int Unavailable(std::string_view flag, std::string_view fix);

}  // namespace sluice::runtime
