// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-rpc's reports on calls that arrived in frames: the counters of the workers, and those of
// the built-in clients, if they are used.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/rpc/server.h"
#include "runtime/port_stats.h"

namespace sluice::rpc_app {

/// Returns the text to append to a line of statistics; empty without built-in clients.
std::string ClientLine(const runtime::PortStats& port);

/// Adds the members that the coherent interface's reports contain, too. `counts`: one element per
/// worker.
void Extend(const runtime::PortStats& port, const std::vector<engine::rpc::Counts>& counts,
            nlohmann::ordered_json& report);

}  // namespace sluice::rpc_app
