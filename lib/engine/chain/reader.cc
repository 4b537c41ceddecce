// SPDX-License-Identifier: BSD-3-Clause
#include "engine/chain/reader.h"

#include <array>
#include <bit>
#include <string>
#include <utility>

namespace sluice::engine::chain {
namespace {

using config::Errors;
using config::ObjectReader;
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

}  // namespace sluice::engine::chain
