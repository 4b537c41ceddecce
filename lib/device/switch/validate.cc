// SPDX-License-Identifier: BSD-3-Clause
//
// Checks of a stream before it is set up: sizes, edges, and room in the tables.
#include <algorithm>
#include <bit>
#include <string>

#include "device/switch/switch.h"

namespace sluice::device::pcie_switch {
namespace {

/// Returns the nodes that could get a message twice: as a target and as the replacement of a dead
/// target, or as the replacement of two dead targets.
NodeMask Twice(const StreamSpec& spec, NodeMask targets) {
  NodeMask once = 0, twice = 0;
  for (NodeId target = 0; target < spec.nodes.size(); ++target) {
    if ((targets & Bit(target)) == 0) continue;
    NodeId node = target;
    for (;;) {
      twice |= once & Bit(node);
      once |= Bit(node);
      if (spec.nodes[node].on_death != OnDeath::kBypass) break;
      node = spec.nodes[node].bypass;
    }
  }
  return twice;
}

std::string At(NodeId node, const std::string& what) {
  return "node " + std::to_string(node) + ": " + what;
}

std::string InvalidPolicy(const Policy& policy, size_t nodes) {
  if (policy.ways == 0) return "round robin and hash need at least one way";
  for (const Edge& edge : policy.edges) {
    if (edge.targets == 0) return "an edge has no target";
    if (edge.targets >> nodes != 0) return "an edge leads to a node that does not exist";
  }
  return "";
}

}  // namespace

std::string Switch::InvalidNode(const StreamSpec& spec, NodeId node, NodeMask receivers) const {
  const NodeSpec& about = spec.nodes[node];
  const uint64_t message = RoundUp(uint64_t{kGranule} + spec.max_message);
  if (about.port >= parameters_.ports) return At(node, "the switch has no such port");
  if (ports_[about.port].dead) return At(node, "the device at the node's port is dead");
  if (std::string wrong = InvalidPolicy(about.out, spec.nodes.size()); !wrong.empty())
    return At(node, wrong);
  if (!about.out.edges.empty() && about.window_granules * kGranule < kMaxPayload)
    return At(node, "its window is smaller than the largest TLP");
  for (const Edge& edge : about.out.edges) {
    if ((edge.targets & ((2u << node) - 1)) != 0)
      return At(node, "an edge leads to the node itself or to an earlier node");
  }
  if ((receivers & Bit(node)) == 0) return "";
  if (about.on_death == OnDeath::kBypass &&
      (about.bypass >= spec.nodes.size() || about.bypass <= node))
    return At(node, "its bypass node must be a later node");
  if (about.on_death == OnDeath::kBypass && (receivers & Bit(about.bypass)) == 0)
    return At(node, "its bypass node has no other incoming edge");
  if (about.kind == NodeKind::kLegacy) {
    if (!std::has_single_bit(about.slots)) return At(node, "its slots must be a power of two");
    if (about.slots * (message + kGranule) > (1ull << kGlueShift))
      return At(node, "its slots do not fit into the switch");
    const uint32_t result = Granules(sizeof(LegacyRecord) + spec.max_message);
    if (!about.out.edges.empty() && about.window_granules < result)
      return At(node, "its window is smaller than the longest result");
    return "";
  }
  if (about.control == 0) return At(node, "the address for the switch's control writes is missing");
  if (about.buffer_bytes % kGranule != 0 || about.buffer_bytes < message)
    return At(node, "its buffer is smaller than the longest message, rounded up to 64-byte lines");
  return "";
}

std::string Switch::NoRoomFor(const StreamSpec& spec, NodeMask receivers) const {
  uint32_t senders = 0, edges = 0;
  for (const NodeSpec& node : spec.nodes) {
    senders += !node.out.edges.empty();
    edges += static_cast<uint32_t>(node.out.edges.size());
  }
  const auto targets = static_cast<uint32_t>(__builtin_popcount(receivers));
  const auto short_of = [&](Stage stage, uint32_t needed, const char* name) -> std::string {
    const uint32_t room = pipeline_.table(stage).room();
    if (needed <= room) return "";
    return std::string("table ") + name + " has room for " + std::to_string(room) +
           " more entries, but " + std::to_string(needed) + " are needed";
  };
  std::string wrong = short_of(Stage::kWindow, senders, "window");
  if (wrong.empty()) wrong = short_of(Stage::kSelect, senders, "select");
  if (wrong.empty()) wrong = short_of(Stage::kPolicy, edges, "policy");
  if (wrong.empty()) wrong = short_of(Stage::kRoute, targets, "route");
  // If devices die, every node may need an entry.
  const Table& health = pipeline_.table(Stage::kHealth);
  if (wrong.empty() && pipeline_.table(Stage::kRoute).size() + targets > health.capacity())
    wrong = "table health has too few entries for all nodes";
  return wrong;
}

std::string Switch::Invalid(const StreamSpec& spec) const {
  if (spec.nodes.size() < 2 || spec.nodes.size() > kMaxNodes)
    return "a stream must have 2 to " + std::to_string(kMaxNodes) + " nodes";
  if (spec.max_message == 0 || spec.max_message > kLongestMessage)
    return "the longest message must have 1 to " + std::to_string(kLongestMessage) +
           " bytes, the size of a window";
  const NodeMask receivers = Receivers(spec);
  for (NodeId node = 0; node < spec.nodes.size(); ++node) {
    if (std::string wrong = InvalidNode(spec, node, receivers); !wrong.empty()) return wrong;
    if ((receivers & Bit(node)) == 0 && spec.nodes[node].out.edges.empty())
      return At(node, "it has neither incoming nor outgoing edges");
  }
  for (NodeId node = 0; node < spec.nodes.size(); ++node) {
    for (const Edge& edge : spec.nodes[node].out.edges)
      if (Twice(spec, edge.targets) != 0)
        return At(node, "a message would reach a node twice if another node is bypassed");
  }
  return NoRoomFor(spec, receivers);
}

std::string Switch::Rewire(StreamId stream, NodeId node, const Policy& policy) {
  const Stream& about = streams_[stream];
  if (std::string wrong = InvalidPolicy(policy, about.hops.size()); !wrong.empty()) return wrong;
  if (policy.edges.empty()) return "a policy needs at least one edge";
  const uint16_t lane = about.lanes[node];
  if (lane == kNone) return "the node had no outgoing edge when the stream was opened";
  for (NodeId target = 0; target < about.hops.size(); ++target) {
    if ((TargetsOf(policy) & Bit(target)) == 0) continue;
    if (about.hops[target] == kNone)
      return At(target, "it had no incoming edge when the stream was opened");
    if (target <= node) return At(target, "a new edge must lead to a later node");
  }
  const auto& table = pipeline_.table(Stage::kPolicy);
  const auto mine = std::ranges::count_if(table.entries(), [&](const Entry& entry) {
    return entry.value[0] == stream && entry.value[1] == node;
  });
  if (policy.edges.size() > table.room() + static_cast<size_t>(mine)) return "table policy is full";
  SetPolicy(stream, node, lane, policy);
  return "";
}

}  // namespace sluice::device::pcie_switch
