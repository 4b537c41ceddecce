// SPDX-License-Identifier: BSD-3-Clause
//
// Flags of sluice-chain without frames, where the NIC generates the messages.
#pragma once

#include <cstdint>
#include <optional>

#include "chain_settings.h"
#include "host/run_flags.h"

namespace sluice::chain_app {

struct Settings : ChainSettings, host::RunSettings {
  uint64_t seed = 0;

  /// Returns whether SIGHUP reloads the graph.
  bool hangup() const { return !graph_file.empty(); }
};

/// Returns nullopt if the process should exit with `exit_code`. In this case, the error or the
/// requested information has been printed.
std::optional<Settings> ReadSettings(int argc, char** argv, int* exit_code);

}  // namespace sluice::chain_app
