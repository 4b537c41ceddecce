// SPDX-License-Identifier: BSD-3-Clause
#include "engine/chain/reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::engine::chain {
namespace {

using config::Errors;
using config::ObjectReader;
using device::pcie_switch::Granules;
using device::pcie_switch::OnDeath;
using device::pcie_switch::Select;
using device::pcie_switch::State;
using device::pcie_switch::StateRule;

constexpr uint32_t kMaxWays = 64;
constexpr uint32_t kMaxBuffer = 1u << 24;
constexpr size_t kMaxText = 1024;  ///< Maximum size of an executor's path or options.

/// Returns a parser for the words of a table.
template <typename Value, size_t kCount>
auto OneOf(const std::array<std::pair<std::string_view, Value>, kCount>& words) {
  return [&words](std::string_view text) -> std::optional<Value> {
    for (const auto& [word, value] : words)
      if (word == text) return value;
    return std::nullopt;
  };
}

constexpr std::array<std::pair<std::string_view, DeviceKind>, 4> kKinds = {
    {{"nic", DeviceKind::kNic},
     {"host", DeviceKind::kHost},
     {"streaming", DeviceKind::kStreaming},
     {"legacy", DeviceKind::kLegacy}}};
constexpr std::array<std::pair<std::string_view, OnDeath>, 3> kDeaths = {
    {{"drain", OnDeath::kDrain}, {"bypass", OnDeath::kBypass}, {"fail", OnDeath::kFail}}};
constexpr std::array<std::pair<std::string_view, Select>, 4> kChoices = {
    {{"key0", Select::kKey0},
     {"key1", Select::kKey1},
     {"round_robin", Select::kRoundRobin},
     {"hash", Select::kHash}}};
constexpr std::array<std::pair<std::string_view, StateRule>, 2> kRules = {
    {{"fixed", StateRule::kFixed}, {"count", StateRule::kCount}}};

std::optional<State> ParseState(std::string_view hex) {
  State state{};
  if (hex.size() % 2 != 0 || hex.size() > state.size() * 2) return std::nullopt;
  for (size_t i = 0; i < hex.size(); ++i) {
    const char c = hex[i];
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (digit < 0) return std::nullopt;
    state[i / 2] = static_cast<uint8_t>(state[i / 2] << 4 | digit);
  }
  return state;
}

std::vector<std::string> ReadNames(ObjectReader& reader, std::string_view key, size_t most,
                                   Errors* errors) {
  std::vector<std::string> names;
  reader.Array(key, most, [&](const nlohmann::json& item, const std::string& path) {
    if (item.is_string()) {
      names.push_back(item.get<std::string>());
    } else {
      config::AddError(errors, path + ": give a name, \"...\"");
    }
  });
  return names;
}

/// Reads a name, which must be suitable for diagrams and logs: letters, digits, _ and -.
void ReadName(ObjectReader& reader, std::string* name) {
  reader.Require("name");
  reader.Parsed(
      "name", "1 to 32 letters, digits, _ or -",
      [](std::string_view text) -> std::optional<std::string> {
        if (text.empty() || text.size() > 32) return std::nullopt;
        for (const char c : text) {
          const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '_' || c == '-';
          if (!plain) return std::nullopt;
        }
        return std::string(text);
      },
      name);
}

/// Reads the path or the options of a device's executor.
void ReadText(ObjectReader& reader, std::string_view key, DeviceKind kind, std::string* text) {
  if (!reader.Text(key, text)) return;
  if (text->size() > kMaxText) reader.Complain(key, "give at most 1024 bytes");
  if (kind != DeviceKind::kStreaming && kind != DeviceKind::kLegacy)
    reader.Complain(key, "only streaming and legacy devices have this member: omit it");
}

Device ReadDevice(const nlohmann::json& json, const std::string& path, Errors* errors) {
  Device device;
  ObjectReader reader(json, path, errors);
  ReadName(reader, &device.name);
  reader.Require("kind");
  reader.Parsed("kind", "nic, host, streaming or legacy", OneOf(kKinds), &device.kind);
  reader.Require("port");
  reader.Whole("port", 0, kMaxDevices - 1, &device.port);
  if (reader.Whole("buffer", 64, kMaxBuffer, &device.buffer) && device.buffer % 64 != 0)
    reader.Complain("buffer", std::to_string(device.buffer) + ": give a multiple of 64");
  if (reader.Whole("slots", 1, 64, &device.slots) && !std::has_single_bit(device.slots))
    reader.Complain("slots", std::to_string(device.slots) + ": give a power of two");
  ReadText(reader, "executor", device.kind, &device.executor);
  ReadText(reader, "options", device.kind, &device.options);
  std::string where;
  if (json.is_object() && json.contains("from")) {
    device.from = ReadNames(reader, "from", kMaxDevices, errors);
  } else {
    reader.Member("from", &where);
  }
  reader.Finish();
  return device;
}

Way ReadWay(const nlohmann::json& json, const std::string& path, Errors* errors) {
  Way way;
  ObjectReader reader(json, path, errors);
  uint64_t value = 0;
  if (reader.Whole("if", 0, ~0ull, &value)) way.value = value;
  if (reader.Whole("mask", 1, ~0ull, &way.mask) && !way.value)
    reader.Complain("mask", "requires \"if\"");
  reader.Require("nodes");
  way.nodes = ReadNames(reader, "nodes", device::pcie_switch::kMaxNodes, errors);
  if (json.is_object() && json.contains("nodes") && json["nodes"].is_array() &&
      json["nodes"].empty()) {
    reader.Complain("nodes", "give at least one node");
  }
  reader.Finish();
  return way;
}

Node ReadNode(const nlohmann::json& json, const std::string& path, Errors* errors) {
  Node node;
  ObjectReader reader(json, path, errors);
  ReadName(reader, &node.name);
  reader.Require("device");
  reader.Text("device", &node.device);
  reader.Whole("command", 0, ~0u, &node.command);
  reader.Parsed("state", "up to 64 hexadecimal digits, in pairs", ParseState, &node.state);
  reader.Parsed("state_rule", "fixed or count", OneOf(kRules), &node.state_rule);
  reader.Parsed("on_death", "drain, bypass or fail", OneOf(kDeaths), &node.on_death);
  const bool named = reader.Text("bypass", &node.bypass);
  if (named != (node.on_death == OnDeath::kBypass))
    reader.Complain("bypass", named ? "requires \"on_death\": \"bypass\"" : "is missing");
  reader.Parsed("choose", "key0, key1, round_robin or hash", OneOf(kChoices), &node.choose);
  const bool counted = reader.Whole("ways", 1, kMaxWays, &node.ways);
  const bool needs = node.choose == Select::kRoundRobin || node.choose == Select::kHash;
  if (counted != needs)
    reader.Complain("ways",
                    counted ? "only round_robin and hash have ways: omit it" : "is missing");
  reader.Whole("window", 4, 4096, &node.window);
  reader.Array("to", kMaxWays, [&](const nlohmann::json& item, const std::string& at) {
    node.to.push_back(ReadWay(item, at, errors));
    if (node.to.back().value && node.choose == Select::kNothing)
      config::AddError(errors, at + ".if: requires \"choose\" in the node");
  });
  reader.Finish();
  return node;
}

Chain ReadChain(const nlohmann::json& json, const std::string& path, Errors* errors) {
  Chain chain;
  ObjectReader reader(json, path, errors);
  ReadName(reader, &chain.name);
  reader.Require("flows");
  for (const std::string& text : ReadNames(reader, "flows", 256, errors)) {
    if (const auto flow = ParseFlow(text)) {
      chain.flows.push_back(*flow);
    } else {
      reader.Complain("flows", "\"" + text.substr(0, 40) +
                                   "\": give udp:PORT, tcp:PORT or any:PORT, with * for any port");
    }
  }
  reader.Require("message");
  reader.Whole("message", 1, device::pcie_switch::kLongestMessage, &chain.message);
  reader.Require("nodes");
  reader.Array("nodes", device::pcie_switch::kMaxNodes,
               [&](const nlohmann::json& item, const std::string& at) {
                 chain.nodes.push_back(ReadNode(item, at, errors));
               });
  reader.Finish();
  return chain;
}

}  // namespace

std::optional<Graph> ReadGraph(std::string_view text, Errors* errors) {
  const size_t before = errors->size();
  const auto json = config::ParseJson(text, errors, kMaxGraphBytes);
  if (!json) return std::nullopt;
  Graph graph;
  ObjectReader reader(*json, "", errors);
  reader.Require("devices");
  reader.Array("devices", kMaxDevices, [&](const nlohmann::json& item, const std::string& path) {
    graph.devices.push_back(ReadDevice(item, path, errors));
  });
  reader.Require("chains");
  reader.Array("chains", kMaxChains, [&](const nlohmann::json& item, const std::string& path) {
    graph.chains.push_back(ReadChain(item, path, errors));
  });
  reader.Finish();
  // The graph is not checked after a read error, because a member that could not be read would be
  // reported again as missing.
  if (errors->size() != before || !CheckGraph(&graph, errors)) return std::nullopt;
  return graph;
}

// Semantic checks of a graph.

namespace {

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
                   " bytes needs a buffer that is at least 64 bytes longer");
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
