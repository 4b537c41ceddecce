// SPDX-License-Identifier: BSD-3-Clause
//
// Flags of sluice-rpc on interfaces that carry frames, in addition to the common flags of all
// applications.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rpc/x_compiler.h"
#include "runtime/command_line.h"
#include "service_files.h"

namespace sluice::rpc_app {

struct FrameSettings {
  std::vector<ServiceFiles> services;
  bool tcp = false;      ///< Serves TCP connections instead of UDP datagrams.
  bool clients = false;  ///< The built-in clients are attached to the embedded NIC.
};

/// Checks the flags, sets the port mapper's bindings, and attaches the built-in clients to the
/// embedded NIC unless `line` selects another wire. On an invalid flag, returns nullopt and sets
/// `flag` and `fix`.
std::optional<FrameSettings> ReadFrameSettings(runtime::CommandLine* line, std::string* flag,
                                               std::string* fix);

}  // namespace sluice::rpc_app
