// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-chain's reports on a run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "figures.h"
#include "settings.h"

namespace sluice::chain_app {

// The following functions are common to both programs. `stages` is indexed as in `run`.

/// Returns lines with the host's cost per message, TLPs, counts per stage, and drops of the switch.
std::string ChainTotals(const ChainSettings& settings, const std::vector<const StageSpec*>& stages,
                        const Figures& run);
/// Adds the data of ChainTotals to a report as members, except `drops`.
void ExtendByChain(const ChainSettings& settings, const std::vector<const StageSpec*>& stages,
                   const Figures& run, nlohmann::ordered_json& report);
/// Returns the switch's nonzero drop counts by name.
nlohmann::ordered_json DropsOf(const Figures& run);
/// Returns an error that names a stage that was down at the end of the run, and the reason; empty
/// if all stages were up.
std::string DownFault(const Figures& run);

// The following functions are for sluice-chain without frames.

std::string PeriodLine(const Figures& earlier, const Figures& later);
std::string Totals(const Settings& settings, const std::vector<const StageSpec*>& stages,
                   const Figures& run);
std::string Json(const Settings& settings, const std::vector<const StageSpec*>& stages,
                 const Figures& run);

/// Returns the reason why a finished run was not clean, or an empty string if it was.
std::string Fault(const Figures& run);

}  // namespace sluice::chain_app
