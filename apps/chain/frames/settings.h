// SPDX-License-Identifier: BSD-3-Clause
//
// Flags of sluice-chain on interfaces that carry frames, in addition to the common flags of all
// applications.
#pragma once

#include <optional>
#include <string>

#include "chain_settings.h"
#include "host/run_flags.h"
#include "runtime/command_line.h"

namespace sluice::chain_app {

struct FrameSettings : ChainSettings, host::RunSettings {
  bool clients = false;  ///< The built-in clients are attached to the embedded NIC.
};

/// Checks the flags, and attaches the built-in clients to the embedded NIC unless `line` selects
/// another wire. On an invalid flag, returns nullopt and sets `error` to one line that names the
/// flag and the fix.
std::optional<FrameSettings> ReadFrameSettings(runtime::CommandLine* line, std::string* error);

}  // namespace sluice::chain_app
