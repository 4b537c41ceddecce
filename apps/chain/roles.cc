// SPDX-License-Identifier: BSD-3-Clause
#include "roles.h"

#include <algorithm>
#include <bit>

#include "stage_kinds.h"

namespace sluice::chain_app {
namespace {

using engine::chain::Chain;
using engine::chain::Device;
using engine::chain::DeviceKind;
using engine::chain::FindByName;
using engine::chain::Graph;

bool IsStage(const Device& device) {
  return device.kind == DeviceKind::kStreaming || device.kind == DeviceKind::kLegacy;
}

/// Checks that messages enter at the NIC and then pass only through stages until they end. Returns
/// an error message, or an empty string.
std::string WrongWay(const Graph& graph, const Chain& chain) {
  for (size_t i = 0; i < chain.nodes.size(); ++i) {
    const engine::chain::Node& node = chain.nodes[i];
    const Device& device = *FindByName(graph.devices, node.device);
    const std::string at = "chain \"" + chain.name + "\": node \"" + node.name + "\": ";
    if (i == 0 && device.kind != DeviceKind::kNic)
      return at + "the first node of a chain must be a NIC";
    if (i != 0 && !IsStage(device) && !node.to.empty())
      return at + "a NIC or the host can only be the first or the last node of a chain";
  }
  return "";
}

std::string SetPorts(const Graph& graph, Roles* roles) {
  uint32_t nics = 0, hosts = 0, used = 0;
  for (const Device& device : graph.devices) {
    used |= 1u << device.port;
    if (device.kind == DeviceKind::kNic) {
      roles->nic = device.port;
      ++nics;
    } else if (device.kind == DeviceKind::kHost) {
      roles->root = device.port;
      ++hosts;
    }
  }
  if (nics != 1) return "devices: must contain exactly one NIC";
  if (hosts > 1) return "devices: must contain at most one host";
  if (hosts == 1) return "";
  roles->root = static_cast<uint8_t>(std::countr_one(used));
  return roles->root < device::pcie_switch::kMaxPorts
             ? ""
             : "devices: all ports are used: free one for the host, or add a host device";
}

}  // namespace

std::optional<Roles> RolesOf(const Graph& graph, std::string* error) {
  Roles roles;
  *error = SetPorts(graph, &roles);
  for (const Chain& chain : graph.chains) {
    if (error->empty()) *error = WrongWay(graph, chain);
    roles.longest = std::max(roles.longest, chain.message);
  }
  if (error->empty() && graph.chains.empty()) *error = "chains: give at least one chain";
  if (!error->empty()) return std::nullopt;
  for (const Device& device : graph.devices) {
    uint32_t longest = 0;
    for (const Chain& chain : graph.chains)
      if (std::ranges::count(chain.nodes, device.name, &engine::chain::Node::device) != 0)
        longest = std::max(longest, chain.message);
    roles.to_host |= device.kind == DeviceKind::kHost && longest != 0;
    if (!IsStage(device) || longest == 0) continue;
    const std::string at = "device \"" + device.name + "\": ";
    if (device.executor.empty()) {
      *error = at + "requires an \"executor\": see --list=stages";
      return std::nullopt;
    }
    const StageKind* const kind = FindStage(device.executor, error);
    if (kind == nullptr) {
      *error = at + *error;
      return std::nullopt;
    }
    roles.stages.push_back({.device = device.name,
                            .port = device.port,
                            .legacy = device.kind == DeviceKind::kLegacy,
                            .executor = device.executor,
                            .options = device.options,
                            .max_message = longest,
                            .kind = kind});
  }
  return roles;
}

std::string Incompatible(const Roles& before, const Roles& after) {
  if (before.nic != after.nic || before.root != after.root)
    return "the ports of the NIC and the host cannot change without a restart";
  if (after.longest > before.longest)
    return "messages of more than " + std::to_string(before.longest) + " bytes require a restart";
  for (const StageSpec& stage : after.stages) {
    for (const StageSpec& old : before.stages) {
      if (old.device != stage.device && old.port != stage.port) continue;
      if (old.device != stage.device || old.port != stage.port || old.executor != stage.executor ||
          old.options != stage.options)
        return "device \"" + old.device +
               "\": its port, executor and options cannot change without a restart";
      if (stage.max_message > old.max_message)
        return "device \"" + old.device +
               "\": longer messages require a restart: the stage was started for at most " +
               std::to_string(old.max_message) + " bytes";
    }
  }
  return "";
}

}  // namespace sluice::chain_app
