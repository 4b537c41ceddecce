// SPDX-License-Identifier: BSD-3-Clause
//
// What sluice-chain says about a run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "figures.h"
#include "settings.h"

namespace sluice::chain_app {

// What any program says of chains. `stages`: by number, as in `run`.

/// Lines: what a message cost the host, TLPs, what each stage has done, drops of the switch.
std::string ChainTotals(const ChainSettings& settings, const std::vector<const StageSpec*>& stages,
                        const Figures& run);
/// The same as members of a report, beside `drops`.
void ExtendByChain(const ChainSettings& settings, const std::vector<const StageSpec*>& stages,
                   const Figures& run, nlohmann::ordered_json& report);
/// Of the switch, by name: those that are not zero.
nlohmann::ordered_json DropsOf(const Figures& run);
/// Which stage could not be started again until the end, and why; empty: none.
std::string DownFault(const Figures& run);

// What this one says.

std::string PeriodLine(const Figures& earlier, const Figures& later);
std::string Totals(const Settings& settings, const std::vector<const StageSpec*>& stages,
                   const Figures& run);
std::string Json(const Settings& settings, const std::vector<const StageSpec*>& stages,
                 const Figures& run);

/// Why a run that is over was not a clean one; empty: it was.
std::string Fault(const Figures& run);

}  // namespace sluice::chain_app
