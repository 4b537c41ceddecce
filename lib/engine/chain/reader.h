// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a policy graph from JSON, and says what is wrong with it, a line each, all of it at once.
#pragma once

#include <optional>
#include <string_view>

#include "engine/chain/graph.h"
#include "runtime/json_reader.h"

namespace sluice::engine::chain {

inline constexpr size_t kMaxGraphBytes = size_t{1} << 20;
inline constexpr uint32_t kMaxDevices = device::pcie_switch::kMaxPorts;
inline constexpr uint32_t kMaxChains = 256;

/// A graph that is valid: names resolve, ways lead on and end at a NIC or the host, messages fit.
/// Nodes are in order. Nothing, with lines in `errors`, if it is not.
std::optional<Graph> ReadGraph(std::string_view text, runtime::Errors* errors);

/// The second half of it, for a graph from elsewhere: checks, and puts nodes in order.
bool CheckGraph(Graph* graph, runtime::Errors* errors);

}  // namespace sluice::engine::chain
