// SPDX-License-Identifier: BSD-3-Clause
//
// A policy graph: assigns flows to chains of accelerators, selects successor stages by predicates,
// and defines the handling of failures. The file format is JSON; see docs/chain.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/switch/spec.h"

namespace sluice::engine::chain {

enum class DeviceKind : uint8_t { kNic, kHost, kStreaming, kLegacy };

/// The device at a switch port.
struct Device {
  std::string name;
  DeviceKind kind = DeviceKind::kStreaming;
  uint8_t port = 0;
  uint32_t buffer = 65536;  ///< Size of a node's streaming buffer in bytes; a multiple of 64.
  /// Legacy devices: maximum number of messages in the device; a power of two.
  uint32_t slots = 8;
  /// Streaming and legacy devices: name and options of the executor, interpreted by the program
  /// that runs the graph.
  std::string executor;
  std::string options;
  /// Names of the devices that may write to this device; unset: all may.
  std::optional<std::vector<std::string>> from;
  friend bool operator==(const Device&, const Device&) = default;
};

/// Edges to one or more nodes, taken by messages whose chosen value (Node::choose) matches.
struct Way {
  /// Compared with the chosen value in the bits of `mask`. Unset: always matches.
  std::optional<uint64_t> value;
  uint64_t mask = ~0ull;
  std::vector<std::string> nodes;  ///< Each node gets a copy of the message.
  friend bool operator==(const Way&, const Way&) = default;
};

struct Node {
  std::string name;
  std::string device;
  uint32_t command = 0;
  device::pcie_switch::StateRule state_rule = device::pcie_switch::StateRule::kFixed;
  device::pcie_switch::State state{};
  device::pcie_switch::OnDeath on_death = device::pcie_switch::OnDeath::kFail;
  /// Node that receives the messages if this node fails; set for OnDeath::kBypass.
  std::string bypass;
  device::pcie_switch::Select choose = device::pcie_switch::Select::kNothing;
  uint32_t ways = 1;  ///< Round robin and hash choose a value from 0 to ways - 1.
  /// Credits: number of 64-byte granules that may be sent before the switch has forwarded the
  /// first.
  uint32_t window = 64;
  std::vector<Way> to;
  friend bool operator==(const Node&, const Node&) = default;
};

/// Matches flows by protocol and destination port.
struct FlowMatch {
  uint8_t protocol = 0;  ///< 6 TCP, 17 UDP, 0: either.
  uint16_t port = 0;     ///< 0: any.
  friend bool operator==(const FlowMatch&, const FlowMatch&) = default;
};

struct Chain {
  std::string name;
  std::vector<FlowMatch> flows;  ///< A flow enters the first chain that has a match for it.
  uint32_t message = 0;          ///< Maximum message size in bytes.
  std::vector<Node> nodes;  ///< After the check: sorted, so that edges lead only to later nodes.
  friend bool operator==(const Chain&, const Chain&) = default;
};

struct Graph {
  std::vector<Device> devices;
  std::vector<Chain> chains;
};

/// Returns the element named `name`, or null.
template <typename Named>
const Named* FindByName(const std::vector<Named>& all, std::string_view name) {
  for (const Named& one : all)
    if (one.name == name) return &one;
  return nullptr;
}

/// Returns the chain that a flow enters, or null.
const Chain* ChainOf(const Graph& graph, FlowMatch flow);

/// Parses e.g. "udp:5000", "tcp:80", "any:9" or "udp:*". Returns nullopt if `text` is invalid.
std::optional<FlowMatch> ParseFlow(std::string_view text);
std::string NameOf(FlowMatch flow);

}  // namespace sluice::engine::chain
