// SPDX-License-Identifier: BSD-3-Clause
//
// Text output: a graph as a Graphviz diagram, and the explanation of one flow.
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "engine/chain/deployment.h"

namespace sluice::engine::chain {
namespace {

using device::pcie_switch::OnDeath;
using device::pcie_switch::Select;

std::string Hex(uint64_t value) {
  std::array<char, 20> text;
  std::snprintf(text.data(), text.size(), "0x%" PRIx64, value);
  return text.data();
}

std::string ChosenBy(const Node& node) {
  switch (node.choose) {
    case Select::kNothing:
      return "";
    case Select::kKey0:
      return "key0";
    case Select::kKey1:
      return "key1";
    case Select::kRoundRobin:
      return "round robin of " + std::to_string(node.ways);
    case Select::kHash:
      return "hash of key0 into " + std::to_string(node.ways);
  }
  return "";
}

std::string ConditionOf(const Node& node, const Way& way) {
  if (!way.value) return "always";
  const std::string mask = way.mask == ~0ull ? "" : " & " + Hex(way.mask);
  return ChosenBy(node) + mask + " == " + std::to_string(*way.value);
}

std::string OnDeathOf(const Node& node) {
  switch (node.on_death) {
    case OnDeath::kDrain:
      return "its messages are dropped";
    case OnDeath::kBypass:
      return "its messages go to " + node.bypass;
    case OnDeath::kFail:
      break;
  }
  return "the stream ends";
}

std::string ListOf(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string Dot(const Graph& graph) {
  std::string text = "digraph chains {\n  rankdir=LR;\n";
  for (size_t c = 0; c < graph.chains.size(); ++c) {
    const Chain& chain = graph.chains[c];
    const auto id = [&](const std::string& node) { return "\"" + chain.name + "." + node + "\""; };
    text += "  subgraph cluster_" + std::to_string(c) + " {\n    label=\"" + chain.name + ":";
    for (const FlowMatch flow : chain.flows) text += " " + NameOf(flow);
    text += "\";\n";
    for (const Node& node : chain.nodes) {
      const DeviceKind kind = FindByName(graph.devices, node.device)->kind;
      text += "    " + id(node.name) + " [label=\"" + node.name + "\\n" + node.device + "\"" +
              (kind == DeviceKind::kLegacy ? ", shape=box" : "") + "];\n";
    }
    for (const Node& node : chain.nodes) {
      for (const Way& way : node.to) {
        for (const std::string& to : way.nodes) {
          text += "    " + id(node.name) + " -> " + id(to);
          if (way.value) text += " [label=\"" + ConditionOf(node, way) + "\"]";
          text += ";\n";
        }
      }
      if (!node.bypass.empty())
        text += "    " + id(node.name) + " -> " + id(node.bypass) +
                " [style=dashed, label=\"bypass\"];\n";
    }
    text += "  }\n";
  }
  return text + "}\n";
}

std::string Deployment::Explain(FlowMatch flow) const {
  const Chain* const chain = ChainOf(graph_, flow);
  if (chain == nullptr)
    return NameOf(flow) + ": no chain has this flow; it is forwarded to the host\n";
  const Running& running = *Find(chain->name);
  const auto& pipeline = switch_->pipeline();
  std::string text = NameOf(flow) + ": chain " + chain->name + ", stream " +
                     std::to_string(running.opened.stream) +
                     (switch_->failed(running.opened.stream) ? ", failed" : "") +
                     ", messages of at most " + std::to_string(chain->message) + " bytes\n";
  for (size_t i = 0; i < chain->nodes.size(); ++i) {
    const Node& node = chain->nodes[i];
    const Device& device = *FindByName(graph_.devices, node.device);
    const auto id = static_cast<device::pcie_switch::NodeId>(i);
    text += "node " + std::to_string(i) + " " + node.name + ": " + node.device + " at port " +
            std::to_string(device.port) + "\n";
    if (running.opened.registers[i] != 0) {
      const auto* const health =
          pipeline.table(device::pcie_switch::Stage::kHealth).Find({running.opened.stream, i, 0});
      text += "  receives: " + std::to_string(switch_->MessagesTo(running.opened.stream, id)) +
              " messages so far, with command " + std::to_string(node.command) + "; " +
              (device.from ? "from " + ListOf(*device.from) + " alone" : "from any device") +
              (health != nullptr ? "; it is dead: " : "; if it dies, ") + OnDeathOf(node) + "\n";
    }
    if (running.opened.windows[i] == 0) {
      text += "  sends nothing: the chain ends here\n";
      continue;
    }
    text += "  sends: window " + Hex(running.opened.windows[i]) + ", which " + node.device +
            " alone may write; " +
            std::to_string(switch_->MessagesFrom(running.opened.stream, id)) + " messages so far\n";
    for (const Way& way : node.to) {
      text += "    " + ConditionOf(node, way) + ": to " + ListOf(way.nodes) + "\n";
    }
    if (!node.to.empty() && node.to.back().value) text += "    else: dropped as no_edge\n";
  }
  return text;
}

}  // namespace sluice::engine::chain
