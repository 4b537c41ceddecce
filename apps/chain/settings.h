// SPDX-License-Identifier: BSD-3-Clause
//
// Flags of sluice-chain without frames, where messages arrive at the switch's port.
#pragma once

#include <cstdint>
#include <optional>

#include "chain_settings.h"
#include "runtime/run_flags.h"

namespace sluice::chain_app {

struct Settings : ChainSettings, runtime::RunSettings {
  uint64_t seed = 0;
};

/// Returns nullopt if the process should exit with `exit_code`; the error or the requested
/// information has been printed then.
std::optional<Settings> ReadSettings(int argc, char** argv, int* exit_code);

}  // namespace sluice::chain_app
