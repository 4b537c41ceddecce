// SPDX-License-Identifier: BSD-3-Clause
//
// What a graph's devices are to sluice-chain: one NIC, on which all messages arrive; the CPU; and
// stages, each with somebody who executes its work.
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
  device::pcie_switch::PortId root = 0;  ///< The CPU's port: the host's, or one that is free.
  bool to_host = false;                  ///< Some chain ends at the host.
  uint32_t longest = 0;                  ///< Bytes of a message of any chain.
  std::vector<StageSpec> stages;         ///< Those that some chain uses.
};

/// Of a checked graph. Nothing, with one line in `error`: it cannot be run.
std::optional<Roles> RolesOf(const engine::chain::Graph& graph, std::string* error);

/// Why `after` cannot take the place of `before` while messages are under way; empty: it can.
std::string Incompatible(const Roles& before, const Roles& after);

}  // namespace sluice::chain_app
