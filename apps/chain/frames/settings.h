// SPDX-License-Identifier: BSD-3-Clause
//
// Flags of sluice-chain on interfaces that carry frames, beside those of all applications.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "chain_settings.h"
#include "runtime/command_line.h"

namespace sluice::chain_app {

struct FrameSettings : ChainSettings {
  bool clients = false;       ///< Our own stand behind the embedded NIC.
  std::FILE* text = nullptr;  ///< Where people read.
};

/// Checks the flags, and puts the clients behind the embedded NIC unless `line` says otherwise.
/// Nothing, with one line in `error`, which names the flag and the fix: one is wrong.
std::optional<FrameSettings> ReadFrameSettings(runtime::CommandLine* line, std::string* error);

}  // namespace sluice::chain_app
