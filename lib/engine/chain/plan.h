// SPDX-License-Identifier: BSD-3-Clause
//
// Converts a checked graph to the switch's configuration.
#pragma once

#include <cstdint>
#include <functional>

#include "device/switch/spec.h"
#include "engine/chain/graph.h"

namespace sluice::engine::chain {

/// Device addresses of a node's streaming buffer and control words.
struct Place {
  uint64_t buffer = 0;
  uint64_t control = 0;
  uint64_t doorbell = 0;  ///< Only for legacy devices.
};
/// Returns the addresses for a node. Called once for each node when a chain is opened.
using Placement = std::function<Place(const Device&, const Chain&, const Node&)>;

/// Returns the specification of a chain's stream. The stream has the nodes of the chain, in order.
device::pcie_switch::StreamSpec PlanOf(const Graph& graph, const Chain& chain,
                                       const Placement& placement);
device::pcie_switch::Policy PolicyOf(const Chain& chain, const Node& node);
/// Returns the ports that may write to a device.
device::pcie_switch::PortMask AllowedPorts(const Graph& graph, const Device& device);

}  // namespace sluice::engine::chain
