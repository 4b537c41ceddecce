// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a policy graph from JSON. Reports all errors at once, one per line.
#pragma once

#include <optional>
#include <string_view>

#include "config/json_reader.h"
#include "engine/chain/graph.h"

namespace sluice::engine::chain {

inline constexpr size_t kMaxGraphBytes = size_t{1} << 20;
inline constexpr uint32_t kMaxDevices = device::pcie_switch::kMaxPorts;
inline constexpr uint32_t kMaxChains = 256;

/// Returns a valid graph: all names resolve, edges lead to later nodes, each chain starts and ends
/// at a NIC or the host, and messages fit into the buffers. Nodes are sorted. Returns nullopt and
/// adds lines to `errors` if the text is invalid.
std::optional<Graph> ReadGraph(std::string_view text, config::Errors* errors);

/// Checks a graph from another source and sorts its nodes, as ReadGraph does. Returns false and
/// adds lines to `errors` if the graph is invalid.
bool CheckGraph(Graph* graph, config::Errors* errors);

}  // namespace sluice::engine::chain
