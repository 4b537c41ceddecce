// SPDX-License-Identifier: BSD-3-Clause
//
// Finds kinds of stages and kinds of traffic by name. A name with a slash is the path of a shared
// object with a custom stage (SLUICE_STAGE).
#pragma once

#include <string>
#include <vector>

#include "executor.h"
#include "traffic.h"

namespace sluice::chain_app {

/// Returns the kind of stage that `executor` names; it lives as long as the process. Returns null
/// and sets `error` if there is none.
const StageKind* FindStage(const std::string& executor, std::string* error);
/// Returns the kind of traffic that `text` (KIND or KIND:OPTIONS) selects, and sets `options`. On
/// failure, returns null and sets `error`.
const TrafficKind* FindTraffic(const std::string& text, std::string* options, std::string* error);

/// Returns the names of a kind's refusals, at least one.
std::vector<std::string> RefusalsOf(const StageKind& kind);

/// Returns the built-in stages, or traffic, as JSON for --list.
std::string ListStages();
std::string ListTraffic();

}  // namespace sluice::chain_app
