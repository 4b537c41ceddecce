// SPDX-License-Identifier: BSD-3-Clause
//
// A run of sluice-chain from the first message to the last.
#pragma once

#include <csignal>
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

/// By flow: what arrives of it, and what becomes of that. Nothing, with one line in `error`: the
/// traffic cannot be made.
std::optional<Ledgers> MakeLedgers(const ChainSettings& settings, uint64_t seed,
                                   std::string* error);

/// Has messages arrive until the time is over, all have been sent, or SIGINT or SIGTERM comes; then
/// waits until each has an ending. SIGHUP reads the graph again. All of `signals` are blocked.
/// Prints a line a period.
Figures Run(const Settings& settings, const sigset_t& signals, const Ledgers& ledgers,
            System& system);

}  // namespace sluice::chain_app
