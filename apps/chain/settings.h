// SPDX-License-Identifier: BSD-3-Clause
//
// Flags of sluice-chain on the switch's own port.
#pragma once

#include <cstdint>
#include <optional>

#include "chain_settings.h"
#include "runtime/run_flags.h"

namespace sluice::chain_app {

struct Settings : ChainSettings, runtime::RunSettings {
  uint64_t seed = 0;
};

/// Nothing: the process is to end with `exit_code`, and has said why, or shown what was asked for.
std::optional<Settings> ReadSettings(int argc, char** argv, int* exit_code);

}  // namespace sluice::chain_app
