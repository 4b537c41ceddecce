// SPDX-License-Identifier: BSD-3-Clause
//
// Semantic checks of a graph.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/chain/reader.h"

namespace sluice::engine::chain {
namespace {

using config::Errors;
using device::pcie_switch::Granules;
using device::pcie_switch::OnDeath;

template <typename Named>
std::string NamesOf(const std::vector<Named>& all) {
  std::string names;
  for (const Named& one : all) names += (names.empty() ? "" : ", ") + one.name;
  return names;
}

template <typename Named>
void ReportDuplicates(const std::vector<Named>& all, const std::string& path, Errors* errors) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!seen.insert(all[i].name).second)
      config::AddError(errors, path + "[" + std::to_string(i) + "].name: \"" + all[i].name +
                                   "\": this name is used twice: give unique names");
  }
}

/// Checks one chain. Errors start with the chain's JSON path in the file, `path`.
class ChainCheck {
 public:
  ChainCheck(const Graph& graph, Chain& chain, std::string path, Errors* errors)
      : graph_(graph), chain_(chain), path_(std::move(path)), errors_(errors) {}

  void Run() {
    const size_t before = errors_->size();
    if (chain_.flows.empty()) AddError(".flows", "give at least one flow");
    if (chain_.nodes.size() < 2) return AddError(".nodes", "give at least two nodes");
    ReportDuplicates(chain_.nodes, path_ + ".nodes", errors_);
    for (size_t i = 0; i < chain_.nodes.size(); ++i) CheckNode(i);
    if (errors_->size() != before) return;
    CheckEnds();
    if (errors_->size() == before && Order()) CheckTwice();
  }

 private:
  void AddError(const std::string& where, const std::string& what) {
    config::AddError(errors_, path_ + where + ": " + what);
  }
  std::string NodePath(size_t i) const { return ".nodes[" + std::to_string(i) + "]"; }
  size_t IndexOf(std::string_view name) const {
    return static_cast<size_t>(FindByName(chain_.nodes, name) - chain_.nodes.data());
  }

  void CheckName(const std::string& where, const std::string& name) {
    if (FindByName(chain_.nodes, name) == nullptr)
      AddError(where, "\"" + name + "\": no such node; use one of " + NamesOf(chain_.nodes));
  }
  void CheckNode(size_t i) {
    const Node& node = chain_.nodes[i];
    const Device* const device = FindByName(graph_.devices, node.device);
    if (device == nullptr) {
      AddError(NodePath(i) + ".device",
               "\"" + node.device + "\": no such device; use one of " + NamesOf(graph_.devices));
    } else if (device->kind != DeviceKind::kLegacy &&
               device->buffer < (Granules(chain_.message) + 1) * device::pcie_switch::kGranule) {
      AddError(NodePath(i) + ".device",
               "\"" + node.device + "\": its buffer has " + std::to_string(device->buffer) +
                   " bytes; a message of " + std::to_string(chain_.message) +
                   " bytes needs at least 64 bytes more than its length");
    } else if (device->kind == DeviceKind::kLegacy &&
               node.window < Granules(chain_.message + uint64_t{16})) {
      AddError(NodePath(i) + ".window",
               "a window must hold the longest message of a legacy device: give at least " +
                   std::to_string(Granules(chain_.message + uint64_t{16})));
    }
    if (!node.bypass.empty()) CheckName(NodePath(i) + ".bypass", node.bypass);
    for (size_t way = 0; way < node.to.size(); ++way) {
      for (const std::string& name : node.to[way].nodes)
        CheckName(NodePath(i) + ".to[" + std::to_string(way) + "].nodes", name);
    }
  }

  /// Returns the nodes to which node i passes messages: the targets of its edges, and its bypass.
  std::set<size_t> Next(size_t i) const {
    std::set<size_t> next;
    for (const Way& way : chain_.nodes[i].to)
      for (const std::string& name : way.nodes) next.insert(IndexOf(name));
    if (!chain_.nodes[i].bypass.empty()) next.insert(IndexOf(chain_.nodes[i].bypass));
    return next;
  }
  /// Checks that exactly one node has no incoming edge (the entry), and that this node and all
  /// nodes without outgoing edges are at a NIC or the host.
  void CheckEnds() {
    std::set<size_t> reached;
    for (size_t i = 0; i < chain_.nodes.size(); ++i)
      for (const Way& way : chain_.nodes[i].to)
        for (const std::string& name : way.nodes) reached.insert(IndexOf(name));
    std::string entries;
    for (size_t i = 0; i < chain_.nodes.size(); ++i) {
      const Node& node = chain_.nodes[i];
      const DeviceKind kind = FindByName(graph_.devices, node.device)->kind;
      const bool end = kind == DeviceKind::kNic || kind == DeviceKind::kHost;
      if (!reached.contains(i)) {
        entries += (entries.empty() ? "" : ", ") + node.name;
        if (!end)
          AddError(NodePath(i),
                   "no edge leads to \"" + node.name + "\"; flows must enter at a NIC or the host");
      }
      if (node.to.empty() && !end)
        AddError(NodePath(i) + ".to",
                 "a chain must end at a NIC or the host: give the next node in \"to\"");
      if (!node.bypass.empty() && !reached.contains(IndexOf(node.bypass)))
        AddError(NodePath(i) + ".bypass", "\"" + node.bypass + "\": no edge leads to it");
    }
    if (entries.empty()) AddError(".nodes", "no entry node: every node has an incoming edge");
    if (entries.find(',') != entries.npos)
      AddError(".nodes", "more than one entry node: " + entries);
  }
  /// Sorts nodes so that edges lead only to later nodes. Returns false if there is a cycle.
  bool Order() {
    std::vector<size_t> order;
    std::set<size_t> left;
    for (size_t i = 0; i < chain_.nodes.size(); ++i) left.insert(i);
    while (!left.empty()) {
      std::set<size_t> led_to;
      for (const size_t i : left)
        for (const size_t next : Next(i)) led_to.insert(next);
      const auto first = std::ranges::find_if(left, [&](size_t i) { return !led_to.contains(i); });
      if (first == left.end()) {
        AddError(".nodes", "the nodes form a cycle: " + Circle(*left.begin(), left));
        return false;
      }
      order.push_back(*first);
      left.erase(first);
    }
    std::vector<Node> nodes;
    for (const size_t i : order) nodes.push_back(std::move(chain_.nodes[i]));
    chain_.nodes = std::move(nodes);
    return true;
  }
  /// Returns a cycle among the remaining nodes.
  std::string Circle(size_t from, const std::set<size_t>& left) const {
    // Each remaining node has a remaining predecessor, but not necessarily a remaining successor,
    // so edges are followed backwards.
    std::vector<size_t> walk;
    size_t at = from;
    while (std::ranges::find(walk, at) == walk.end()) {
      walk.push_back(at);
      at = *std::ranges::find_if(left, [&](size_t i) { return Next(i).contains(at); });
    }
    std::string text = chain_.nodes[at].name;
    for (auto it = walk.rbegin();; ++it) {
      text += " -> " + chain_.nodes[*it].name;
      if (*it == at) return text;
    }
  }
  /// Checks that no message reaches a node twice, whichever nodes are bypassed.
  void CheckTwice() {
    for (size_t i = 0; i < chain_.nodes.size(); ++i) {
      for (const Way& way : chain_.nodes[i].to) {
        std::set<std::string> reached;
        for (std::string name : way.nodes) {
          for (; !name.empty(); name = FindByName(chain_.nodes, name)->bypass) {
            if (reached.insert(name).second) continue;
            AddError(".nodes", "\"" + chain_.nodes[i].name + "\" would send a message twice to \"" +
                                   name + "\" if another node is bypassed");
            break;
          }
        }
      }
    }
  }

  const Graph& graph_;
  Chain& chain_;
  std::string path_;
  Errors* errors_;
};

}  // namespace

bool CheckGraph(Graph* graph, Errors* errors) {
  const size_t before = errors->size();
  ReportDuplicates(graph->devices, "devices", errors);
  ReportDuplicates(graph->chains, "chains", errors);
  for (size_t i = 0; i < graph->devices.size(); ++i) {
    const Device& device = graph->devices[i];
    const std::string path = "devices[" + std::to_string(i) + "]";
    for (size_t j = 0; j < i; ++j) {
      if (graph->devices[j].port == device.port)
        config::AddError(errors, path + ".port: " + std::to_string(device.port) + ": \"" +
                                     graph->devices[j].name + "\" already uses this port");
    }
    for (const std::string& name : device.from.value_or(std::vector<std::string>{})) {
      if (FindByName(graph->devices, name) == nullptr)
        config::AddError(errors, path + ".from: \"" + name +
                                     "\": no such device; give devices from " +
                                     NamesOf(graph->devices));
    }
  }
  for (size_t i = 0; i < graph->chains.size(); ++i) {
    Chain& chain = graph->chains[i];
    const std::string path = "chains[" + std::to_string(i) + "]";
    ChainCheck(*graph, chain, path, errors).Run();
    for (size_t j = 0; j < i; ++j) {
      for (const FlowMatch& flow : chain.flows) {
        if (std::ranges::find(graph->chains[j].flows, flow) != graph->chains[j].flows.end())
          config::AddError(errors, path + ".flows: " + NameOf(flow) + ": \"" +
                                       graph->chains[j].name + "\" already has this flow");
      }
    }
  }
  return errors->size() == before;
}

}  // namespace sluice::engine::chain
