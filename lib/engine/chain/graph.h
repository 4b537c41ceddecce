// SPDX-License-Identifier: BSD-3-Clause
//
// A policy graph: which flows enter which chain of accelerators, which stages follow by what
// predicate, and what happens when one fails. As a file it is JSON; docs/chain.md has the format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/switch/spec.h"

namespace sluice::engine::chain {

enum class DeviceKind : uint8_t { kNic, kHost, kStreaming, kLegacy };

/// What is behind a port of the switch.
struct Device {
  std::string name;
  DeviceKind kind = DeviceKind::kStreaming;
  uint8_t port = 0;
  uint32_t buffer = 65536;  ///< Bytes of a node's streaming buffer; 64 or a multiple.
  uint32_t slots = 8;       ///< Of a legacy device: messages that it has at once; a power of two.
  /// Of a streaming or legacy device: who executes its work, and how. Whoever runs graphs knows.
  std::string executor;
  std::string options;
  /// Names of the devices that may write to it; nothing: all may.
  std::optional<std::vector<std::string>> from;
  friend bool operator==(const Device&, const Device&) = default;
};

/// One way out of a node.
struct Way {
  /// Of what was chosen, in the bits of `mask`. Nothing: always.
  std::optional<uint64_t> value;
  uint64_t mask = ~0ull;
  std::vector<std::string> nodes;  ///< Each gets a copy.
  friend bool operator==(const Way&, const Way&) = default;
};

struct Node {
  std::string name;
  std::string device;
  uint32_t command = 0;
  device::pcie_switch::StateRule state_rule = device::pcie_switch::StateRule::kFixed;
  device::pcie_switch::State state{};
  device::pcie_switch::OnDeath on_death = device::pcie_switch::OnDeath::kFail;
  std::string bypass;  ///< A node; with OnDeath::kBypass.
  device::pcie_switch::Select choose = device::pcie_switch::Select::kNothing;
  uint32_t ways = 1;     ///< Of round robin and hash.
  uint32_t window = 64;  ///< Granules of 64 bytes that it may send before any has left the switch.
  std::vector<Way> to;
  friend bool operator==(const Node&, const Node&) = default;
};

/// Flows by protocol and destination port.
struct FlowMatch {
  uint8_t protocol = 0;  ///< 6 TCP, 17 UDP, 0: either.
  uint16_t port = 0;     ///< 0: any.
  friend bool operator==(const FlowMatch&, const FlowMatch&) = default;
};

struct Chain {
  std::string name;
  std::vector<FlowMatch> flows;  ///< The first chain with a match gets a flow.
  uint32_t message = 0;          ///< Bytes of the longest message.
  std::vector<Node> nodes;       ///< Checked: in an order in which every way leads on.
  friend bool operator==(const Chain&, const Chain&) = default;
};

struct Graph {
  std::vector<Device> devices;
  std::vector<Chain> chains;
};

/// The element of this name, or null.
template <typename Named>
const Named* FindByName(const std::vector<Named>& all, std::string_view name) {
  for (const Named& one : all)
    if (one.name == name) return &one;
  return nullptr;
}

/// The chain that a flow enters, or null.
const Chain* ChainOf(const Graph& graph, FlowMatch flow);

/// "udp:5000", "tcp:80", "any:9", "udp:*". Nothing: it is none of these.
std::optional<FlowMatch> ParseFlow(std::string_view text);
std::string NameOf(FlowMatch flow);

}  // namespace sluice::engine::chain
