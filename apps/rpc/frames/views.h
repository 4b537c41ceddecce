// SPDX-License-Identifier: BSD-3-Clause
//
// Reports of sluice-rpc about calls that came in frames: the counters of the built-in clients, if
// they are used, and those of the workers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/rpc/server.h"
#include "runtime/port_stats.h"

namespace sluice::rpc_app {

/// Returns the text that follows a line of statistics; empty without built-in clients.
std::string ClientLine(const runtime::PortStats& port);

/// Adds the members that the reports of the coherent interface also have. `counts`: one element per
/// worker.
void Extend(const runtime::PortStats& port, const std::vector<engine::rpc::Counts>& counts,
            nlohmann::ordered_json& report);

}  // namespace sluice::rpc_app
