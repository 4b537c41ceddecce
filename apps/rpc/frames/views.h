// SPDX-License-Identifier: BSD-3-Clause
//
// What sluice-rpc says of calls that came in frames: the clients' figures, if they are ours, and
// what the workers counted.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/rpc/server.h"
#include "runtime/hooks.h"
#include "runtime/port_stats.h"

namespace sluice::rpc_app {

/// Below a line of statistics; empty without clients of our own.
std::string ClientLine(const runtime::PortStats& port);
/// Calls of our clients that ended in none of their endings.
uint64_t Missing(const runtime::PortStats& port);
runtime::Findings FindingsOf(const runtime::PortStats& port);

/// The same members as the coherent interface's report has. `counts`: of each worker.
void Extend(const runtime::PortStats& port, const std::vector<engine::rpc::Counts>& counts,
            nlohmann::ordered_json& report);

}  // namespace sluice::rpc_app
