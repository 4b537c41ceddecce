// SPDX-License-Identifier: BSD-3-Clause
#include "engine/chain/deployment.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <utility>

namespace sluice::engine::chain {
namespace {

using device::pcie_switch::OnDeath;
using device::pcie_switch::Select;

/// Returns whether the nodes differ only in members that may change while the stream runs.
bool SameButWays(const Node& a, const Node& b) {
  Node changed = a;
  changed.choose = b.choose;
  changed.ways = b.ways;
  changed.to = b.to;
  return changed == b && a.to.empty() == b.to.empty();
}

const Device& DeviceOf(const Graph& graph, const Node& node) {
  return *FindByName(graph.devices, node.device);
}

/// Returns whether two devices are equal except for access rights, which can change without a new
/// stream.
bool SameDevice(Device a, const Device& b) {
  a.from = b.from;
  return a == b;
}

/// For each node, returns whether any edge leads to it. Only such nodes can be Rewire targets.
std::vector<bool> Reached(const Chain& chain) {
  std::vector<bool> reached;
  for (const Node& node : chain.nodes) {
    reached.push_back(std::ranges::any_of(chain.nodes, [&](const Node& from) {
      return std::ranges::any_of(from.to, [&](const Way& way) {
        return std::ranges::find(way.nodes, node.name) != way.nodes.end();
      });
    }));
  }
  return reached;
}

}  // namespace

bool SameDevices(const Graph& before, const Graph& after, const Chain& chain) {
  return std::ranges::all_of(chain.nodes, [&](const Node& node) {
    const Device* const old = FindByName(before.devices, node.device);
    return old != nullptr && SameDevice(*old, DeviceOf(after, node));
  });
}

bool OnlyWaysDiffer(const Chain& before, const Chain& after) {
  if (before.message != after.message || before.nodes.size() != after.nodes.size() ||
      Reached(before) != Reached(after)) {
    return false;
  }
  for (size_t i = 0; i < before.nodes.size(); ++i)
    if (!SameButWays(before.nodes[i], after.nodes[i])) return false;
  return true;
}

const Running* Deployment::Find(std::string_view chain) const {
  const auto it = std::ranges::find_if(
      running_, [&](const Running& running) { return running.chain.name == chain; });
  return it == running_.end() ? nullptr : &*it;
}

const Running* Deployment::Before(const Graph& graph, const Chain& chain) const {
  const Running* const old = Find(chain.name);
  const bool goes_on =
      old != nullptr && SameDevices(graph_, graph, chain) && OnlyWaysDiffer(old->chain, chain);
  return goes_on ? old : nullptr;
}

bool Deployment::Stays(const Graph& graph, const Chain& chain) const {
  const Running* const old = Before(graph, chain);
  return old != nullptr && !switch_->failed(old->opened.stream);
}

Running Deployment::Open(device::pcie_switch::Switch& in, const Graph& graph, const Chain& chain,
                         const Running* before) const {
  device::pcie_switch::StreamSpec spec = PlanOf(graph, chain, placement_);
  if (before != nullptr) {
    const auto states = in.States(before->opened.stream);
    for (size_t i = 0; i < states.size(); ++i) spec.nodes[i].state = states[i];
  }
  Running fresh{chain, in.Open(spec)};
  std::string& error = fresh.opened.error;
  if (!error.empty()) error = "chain \"" + chain.name + "\": " + error;
  return fresh;
}

std::string Deployment::Reopen(std::string_view chain) {
  Running& old = *std::ranges::find_if(
      running_, [&](const Running& running) { return running.chain.name == chain; });
  Running fresh = Open(*switch_, graph_, old.chain, &old);
  if (!fresh.opened.error.empty()) return fresh.opened.error;
  switch_->Close(old.opened.stream);
  draining_.push_back(std::exchange(old, std::move(fresh)));
  return "";
}

std::string Deployment::Apply(Graph graph, std::vector<Changed>* changes) {
  // First applies all steps that can fail to a copy of the switch.
  device::pcie_switch::Switch trial = *switch_;
  for (const Device& device : graph.devices) {
    if (device.port >= trial.ports())
      return "devices: \"" + device.name + "\": no such port; the switch has ports 0 to " +
             std::to_string(trial.ports() - 1);
    trial.Allow(device.port, AllowedPorts(graph, device));
  }
  std::vector<Changed> made;
  std::vector<Running> running;
  for (const Chain& chain : graph.chains) {
    const Running* const old = Before(graph, chain);
    if (!Stays(graph, chain)) {
      Running fresh = Open(trial, graph, chain, old);
      if (!fresh.opened.error.empty()) return fresh.opened.error;
      running.push_back(std::move(fresh));
      made.push_back({chain.name, Change::kOpened});
      continue;
    }
    Change change = Change::kKept;
    for (size_t i = 0; i < chain.nodes.size(); ++i) {
      if (chain.nodes[i] == old->chain.nodes[i]) continue;
      change = Change::kRewired;
      const std::string wrong =
          trial.Rewire(old->opened.stream, static_cast<device::pcie_switch::NodeId>(i),
                       PolicyOf(chain, chain.nodes[i]));
      if (!wrong.empty()) return "chain \"" + chain.name + "\": " + wrong;
    }
    running.push_back({chain, old->opened});
    made.push_back({chain.name, change});
  }
  for (Running& old : running_) {
    const bool kept = std::ranges::any_of(running, [&](const Running& one) {
      return one.chain.name == old.chain.name && one.opened.stream == old.opened.stream;
    });
    if (kept) continue;
    trial.Close(old.opened.stream);
    made.push_back({old.chain.name, Change::kClosed});
    draining_.push_back(std::move(old));
  }
  *switch_ = std::move(trial);
  graph_ = std::move(graph);
  running_ = std::move(running);
  if (changes != nullptr) *changes = std::move(made);
  return "";
}

size_t Deployment::Reap() {
  std::erase_if(draining_,
                [&](const Running& old) { return switch_->Finished(old.opened.stream); });
  return draining_.size();
}

// Text output: a graph as a Graphviz diagram, and the explanation of one flow.

namespace {

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
