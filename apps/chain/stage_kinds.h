// SPDX-License-Identifier: BSD-3-Clause
//
// Kinds of stages and of traffic by name. A name with a slash is the path of a shared object with a
// stage of somebody's own (SLUICE_STAGE).
#pragma once

#include <string>
#include <vector>

#include "executor.h"
#include "traffic.h"

namespace sluice::chain_app {

/// Lives as long as the process. Null, with one line in `error`: there is none.
const StageKind* FindStage(const std::string& executor, std::string* error);
/// `text`: KIND or KIND:OPTIONS. The same for traffic; sets `options`.
const TrafficKind* FindTraffic(const std::string& text, std::string* options, std::string* error);

/// Names of a kind's refusals, at least one.
std::vector<std::string> RefusalsOf(const StageKind& kind);

/// All that come with this program, as JSON for --list.
std::string ListStages();
std::string ListTraffic();

}  // namespace sluice::chain_app
