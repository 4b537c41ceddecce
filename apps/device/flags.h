// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of sluice-device: `sluice-device [EAL args] -- [flags]`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emulator/arguments.h"
#include "emulator/server.h"

namespace sluice::device_app {

struct Flags {
  std::vector<std::string> eal;  ///< What the user gave to EAL.
  emulator::ServerOptions server;
  std::string vfio_user;   ///< Where to listen for virtual machines instead; empty: nowhere.
  bool interrupts = true;  ///< The function of vfio_user has those that its model has.
  emulator::Arguments model;
  std::string wire;           ///< As it was given, for the report.
  double duration_s = 0;      ///< 0: until a signal.
  double stats_period_s = 1;  ///< 0: no lines.
  std::string json;           ///< Path, "-" for standard output, empty for none.
};

/// Reads the arguments. Nothing when the run is over already, with `exit_code` set: 0
/// after --help or --version, 2 after a bad argument (one line on standard error names it
/// and the fix).
std::optional<Flags> ReadFlags(int argc, char** argv, int* exit_code);

}  // namespace sluice::device_app
