// SPDX-License-Identifier: BSD-3-Clause
//
// The roles of a graph's devices in sluice-chain: one NIC, at which all messages enter; the CPU;
// and stages, each with an executor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/chain/graph.h"
#include "stage_host.h"

namespace sluice::chain_app {

struct Roles {
  device::pcie_switch::PortId nic = 0;
  /// The CPU's port: the host's port in the graph, or a free one.
  device::pcie_switch::PortId root = 0;
  bool to_host = false;           ///< Whether a chain ends at the host.
  uint32_t longest = 0;           ///< Maximum message size of all chains, in bytes.
  std::vector<StageSpec> stages;  ///< Stages that a chain uses.
};

/// Returns the roles of a checked graph. Returns nullopt and sets `error` if the graph cannot be
/// run.
std::optional<Roles> RolesOf(const engine::chain::Graph& graph, std::string* error);

/// Returns the reason why `after` cannot replace `before` while messages are in flight, or an empty
/// string if it can.
std::string Incompatible(const Roles& before, const Roles& after);

}  // namespace sluice::chain_app
