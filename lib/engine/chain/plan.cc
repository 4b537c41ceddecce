// SPDX-License-Identifier: BSD-3-Clause
#include "engine/chain/plan.h"

namespace sluice::engine::chain {
namespace {

namespace sw = device::pcie_switch;

sw::NodeId IndexOf(const Chain& chain, std::string_view name) {
  return static_cast<sw::NodeId>(FindByName(chain.nodes, name) - chain.nodes.data());
}

}  // namespace

sw::Policy PolicyOf(const Chain& chain, const Node& node) {
  sw::Policy policy{.select = node.choose, .ways = node.ways, .edges = {}};
  for (const Way& way : node.to) {
    sw::Edge edge{.value = way.value.value_or(0), .mask = way.value ? way.mask : 0, .targets = 0};
    for (const std::string& name : way.nodes)
      edge.targets |= static_cast<sw::NodeMask>(1u << IndexOf(chain, name));
    policy.edges.push_back(edge);
  }
  return policy;
}

sw::PortMask AllowedPorts(const Graph& graph, const Device& device) {
  if (!device.from) return sw::kAllPorts;
  sw::PortMask mask = 0;
  for (const std::string& name : *device.from)
    mask |= static_cast<sw::PortMask>(1u << FindByName(graph.devices, name)->port);
  return mask;
}

sw::StreamSpec PlanOf(const Graph& graph, const Chain& chain, const Placement& placement) {
  sw::StreamSpec spec{.nodes = {}, .max_message = chain.message};
  for (const Node& node : chain.nodes) {
    const Device& device = *FindByName(graph.devices, node.device);
    const Place place = placement(device, chain, node);
    spec.nodes.push_back(
        {.port = device.port,
         .kind = device.kind == DeviceKind::kLegacy ? sw::NodeKind::kLegacy : sw::NodeKind::kPush,
         .out = PolicyOf(chain, node),
         .control = place.control,
         .window_granules = node.window,
         .buffer = place.buffer,
         .buffer_bytes = device.buffer,
         .command = node.command,
         .state = node.state,
         .state_rule = node.state_rule,
         .on_death = node.on_death,
         .bypass = node.bypass.empty() ? sw::NodeId{0} : IndexOf(chain, node.bypass),
         .doorbell = place.doorbell,
         .slots = device.slots});
  }
  return spec;
}

}  // namespace sluice::engine::chain
