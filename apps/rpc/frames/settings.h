// SPDX-License-Identifier: BSD-3-Clause
//
// Flags of sluice-rpc on interfaces that carry frames, beside those of all applications.
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
  bool clients = false;  ///< Our own stand behind the embedded NIC.
};

/// Checks the flags, tells the port mapper what there is, and puts the clients behind the embedded
/// NIC unless `line` says otherwise. Nothing: `flag` is wrong, and `fix` says what to do.
std::optional<FrameSettings> ReadFrameSettings(runtime::CommandLine* line, std::string* flag,
                                               std::string* fix);

}  // namespace sluice::rpc_app
