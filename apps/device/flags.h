// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of sluice-device: `sluice-device [EAL args] -- [flags]`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emulator/arguments.h"
#include "emulator/server.h"
#include "host/run_flags.h"

namespace sluice::device_app {

struct Flags : host::RunSettings {
  std::vector<std::string> eal;  ///< Arguments for EAL.
  emulator::ServerOptions server;
  std::string vfio_user;   ///< Socket for virtual machines instead of hosts; empty: none.
  bool interrupts = true;  ///< If false, the vfio_user function has no interrupts.
  emulator::Arguments model;
  std::string wire;  ///< The flag's text, for the report.
};

/// Reads the arguments. Returns nullopt if the process should exit with `exit_code`: 0 after --help
/// or --version, 2 after a bad argument (one line on standard error names it and the fix).
std::optional<Flags> ReadFlags(int argc, char** argv, int* exit_code);

}  // namespace sluice::device_app
