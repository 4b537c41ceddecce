// SPDX-License-Identifier: BSD-3-Clause
//
// From a checked graph to what the switch is told.
#pragma once

#include <cstdint>
#include <functional>

#include "device/switch/spec.h"
#include "engine/chain/graph.h"

namespace sluice::engine::chain {

/// Where in a device a node of a chain has its streaming buffer and its control words.
struct Place {
  uint64_t buffer = 0;
  uint64_t control = 0;
  uint64_t doorbell = 0;  ///< Of a legacy device.
};
/// Asked once for each node when a chain is opened.
using Placement = std::function<Place(const Device&, const Chain&, const Node&)>;

/// The stream of a chain; its nodes are those of the chain, in order.
device::pcie_switch::StreamSpec PlanOf(const Graph& graph, const Chain& chain,
                                       const Placement& placement);
/// The policy of one node.
device::pcie_switch::Policy PolicyOf(const Chain& chain, const Node& node);
/// The ports that may write to a device.
device::pcie_switch::PortMask AllowedPorts(const Graph& graph, const Device& device);

}  // namespace sluice::engine::chain
