// SPDX-License-Identifier: BSD-3-Clause
//
// A run of sluice-chain from the first message to the last.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "figures.h"
#include "ledger.h"
#include "settings.h"
#include "system.h"

namespace sluice::chain_app {

using Ledgers = std::vector<std::unique_ptr<Ledger>>;

/// Creates a ledger per flow. Returns nullopt and sets `error` if the traffic cannot be created.
std::optional<Ledgers> MakeLedgers(const ChainSettings& settings, uint64_t seed,
                                   std::string* error);

/// Sends messages until the duration is over, all messages have ended, or SIGINT or SIGTERM
/// arrives; then waits, for at most twice `settings.timeout_ns`, until each message has an ending.
/// SIGHUP reloads the graph. These signals must be blocked (host::BlockRunSignals). Prints one line
/// per period.
Figures Run(const Settings& settings, const Ledgers& ledgers, System& system);

}  // namespace sluice::chain_app
