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

/// Returns lines with the host's cost per message, the TLPs, the counts of each stage, and the
/// switch's drops.
std::string ChainTotals(const ChainSettings& settings, const std::vector<const StageSpec*>& stages,
                        const Figures& run);
/// Adds the data of ChainTotals to a report as members, except `drops`.
void ExtendByChain(const ChainSettings& settings, const std::vector<const StageSpec*>& stages,
                   const Figures& run, nlohmann::ordered_json& report);
/// Returns the switch's nonzero drop counts by name.
nlohmann::ordered_json DropsOf(const Figures& run);
/// If a stage was down at the end of the run, returns an error message that names the stage and the
/// reason; otherwise returns an empty string.
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
