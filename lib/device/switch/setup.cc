// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "device/switch/switch.h"

namespace sluice::device::pcie_switch {
namespace {

template <typename Element>
uint16_t FreeIndex(std::vector<Element>& elements) {
  const auto it = std::ranges::find(elements, false, &Element::used);
  if (it != elements.end()) return static_cast<uint16_t>(it - elements.begin());
  elements.emplace_back();
  return static_cast<uint16_t>(elements.size() - 1);
}

/// Returns the nodes that could get a message twice: both as a target and in place of a dead
/// target, or in place of two dead targets.
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

// Control path: opens streams and sets up policies, address ranges and access rights.

Switch::Switch(const SwitchParameters& parameters)
    : parameters_(parameters),
      pipeline_(parameters.pipeline,
                parameters.pipeline.capacity[static_cast<uint32_t>(Stage::kWindow)]),
      ports_(parameters.ports) {
  if (parameters_.flow_control == FlowControl::kPort)
    rings_.assign(parameters_.ports, Ring(parameters_.port_granules));
  for (uint32_t port = 0; port < parameters_.ports; ++port)
    Allow(static_cast<PortId>(port), kAllPorts);
}

void Switch::Allow(PortId port, PortMask sources) {
  pipeline_.table(Stage::kAccess)
      .Set({.value = {port},
            .action = {{.op = Op::kCopy, .to = Field::kScratch, .from = Field::kSourceBit},
                       {.op = Op::kAnd, .to = Field::kScratch, .value = sources},
                       {.op = Op::kDropIfZero,
                        .to = Field::kScratch,
                        .reason = static_cast<uint8_t>(Drop::kForbidden)}}});
}

bool Switch::AddRange(const Range& range) {
  const auto overlaps = [&](uint64_t base, uint64_t end) {
    return range.base < end && base < range.base + range.bytes;
  };
  if (range.port >= parameters_.ports || range.bytes == 0) return false;
  if (range.base + range.bytes < range.base || overlaps(kSwitchBase, kSwitchEnd)) return false;
  for (const Range& other : ranges_)
    if (overlaps(other.base, other.base + other.bytes)) return false;
  ranges_.insert(std::ranges::upper_bound(ranges_, range.base, {}, &Range::base), range);
  return true;
}

Opened Switch::Open(const StreamSpec& spec) {
  Opened opened;
  opened.error = Invalid(spec);
  if (!opened.error.empty()) return opened;
  opened.stream = FreeIndex(streams_);
  opened.windows.assign(spec.nodes.size(), 0);
  opened.registers = opened.rings = opened.windows;
  streams_[opened.stream] = {.used = true,
                             .max_message = spec.max_message,
                             .lanes = std::vector<uint16_t>(spec.nodes.size(), kNone),
                             .hops = std::vector<uint16_t>(spec.nodes.size(), kNone)};
  const NodeMask receivers = Receivers(spec);
  for (NodeId node = 0; node < spec.nodes.size(); ++node) {
    if (!spec.nodes[node].out.edges.empty())
      OpenLane(opened.stream, node, spec.nodes[node], opened);
    if ((receivers & Bit(node)) != 0)
      OpenHop(opened.stream, node, spec.nodes[node], spec.max_message, opened);
  }
  return opened;
}

void Switch::OpenLane(StreamId stream, NodeId node, const NodeSpec& spec, Opened& opened) {
  const uint16_t index = FreeIndex(lanes_);
  Lane& lane = lanes_[index];
  lane = {.used = true,
          .stream = stream,
          .node = node,
          .owner = spec.port,
          .legacy = spec.kind == NodeKind::kLegacy,
          .ring = parameters_.flow_control == FlowControl::kPort ? uint16_t{spec.port} : index,
          .capacity = spec.window_granules,
          .control = spec.control};
  if (parameters_.flow_control == FlowControl::kStream) {
    if (rings_.size() <= index) rings_.resize(index + 1);
    rings_[index] = Ring(spec.window_granules);
  }
  streams_[stream].lanes[node] = index;
  ports_[spec.port].lanes.push_back(index);
  opened.windows[node] = kWindows + (uint64_t{index} << kWindowShift);
  pipeline_.table(Stage::kWindow)
      .Set({.value = {index},
            .action = {{.to = Field::kStream, .value = stream},
                       {.to = Field::kNode, .value = node},
                       {.to = Field::kLane, .value = index},
                       {.op = Op::kDropUnless,
                        .to = Field::kSource,
                        .reason = static_cast<uint8_t>(Drop::kNotOwner),
                        .value = spec.port}}});
  SetPolicy(stream, node, index, spec.out);
}

void Switch::SetPolicy(StreamId stream, NodeId node, uint16_t lane, const Policy& policy) {
  Action select;
  switch (policy.select) {
    case Select::kNothing:
      select = {{.to = Field::kSelected, .value = 0}};
      break;
    case Select::kKey0:
      select = {{.op = Op::kCopy, .to = Field::kSelected, .from = Field::kKey0}};
      break;
    case Select::kKey1:
      select = {{.op = Op::kCopy, .to = Field::kSelected, .from = Field::kKey1}};
      break;
    case Select::kRoundRobin:
      select = {{.op = Op::kCount, .to = Field::kSelected, .value = lane},
                {.op = Op::kModulo, .to = Field::kSelected, .value = policy.ways}};
      break;
    case Select::kHash:
      select = {{.op = Op::kHash, .to = Field::kSelected, .from = Field::kKey0},
                {.op = Op::kModulo, .to = Field::kSelected, .value = policy.ways}};
      break;
  }
  pipeline_.table(Stage::kSelect).Set({.value = {stream, node}, .action = select});
  Table& table = pipeline_.table(Stage::kPolicy);
  table.EraseOf(stream, node);
  uint32_t priority = 0;
  for (const Edge& edge : policy.edges) {
    table.Set({.value = {stream, node, edge.value},
               .mask = {~0ull, ~0ull, edge.mask},
               .priority = priority++,
               .action = {{.to = Field::kTargets, .value = edge.targets}}});
  }
}

void Switch::OpenHop(StreamId stream, NodeId node, const NodeSpec& spec, uint32_t max_message,
                     Opened& opened) {
  const uint16_t index = FreeIndex(hops_);
  Hop& hop = hops_[index];
  hop = {};
  hop.used = true;
  hop.stream = stream;
  hop.node = node;
  hop.spec = spec;
  opened.registers[node] = kRegisters + uint64_t{index} * 8;
  if (spec.kind == NodeKind::kLegacy) {
    hop.memory.assign(spec.slots * (kGranule + RoundUp(max_message)), 0);
    hop.slots.assign(spec.slots, {});
    opened.rings[node] = kGlueMemory + (uint64_t{index} << kGlueShift);
  }
  streams_[stream].hops[node] = index;
  ports_[spec.port].hops.push_back(index);
  pipeline_.table(Stage::kRoute)
      .Set({.value = {stream, node}, .action = {{.to = Field::kPort, .value = spec.port}}});
}

void Switch::Close(StreamId stream) {
  streams_[stream].closing = true;
  for (const uint16_t lane : streams_[stream].lanes)
    if (lane != kNone && ports_[lanes_[lane].owner].dead) lanes_[lane].closed = true;
}

bool Switch::Quiet(StreamId stream, NodeId node) const {
  const Stream& about = streams_[stream];
  if (about.hops[node] == kNone) return true;
  for (NodeId before = 0; before < node; ++before) {
    const uint16_t lane = about.lanes[before];
    if (lane == kNone) continue;
    if (!lanes_[lane].closed) return false;
    const Ring& ring = rings_[lanes_[lane].ring];
    for (uint32_t i = 0; i < ring.size(); ++i)
      if (ring[i].lane == lane && (ring[i].targets & Bit(node)) != 0) return false;
  }
  const Hop& hop = hops_[about.hops[node]];
  return hop.dead ||
         (hop.sent == hop.consumed && !hop.aborted && std::ranges::none_of(hop.slots, &Slot::used));
}

bool Switch::Finished(StreamId stream) {
  const Stream& about = streams_[stream];
  if (!about.used) return true;
  if (!about.closing) return false;
  for (const uint16_t lane : about.lanes) {
    if (lane == kNone) continue;
    Lane& sender = lanes_[lane];
    if (sender.legacy && !sender.coming && Quiet(stream, sender.node)) sender.closed = true;
    if (!sender.closed) return false;
    const Ring& ring = rings_[lanes_[lane].ring];
    for (uint32_t i = 0; i < ring.size(); ++i)
      if (ring[i].lane == lane && ring[i].targets != 0) return false;
  }
  for (const uint16_t index : about.hops) {
    if (index == kNone || hops_[index].dead) continue;
    const Hop& hop = hops_[index];
    if (hop.sent != hop.consumed || hop.aborted) return false;
    if (std::ranges::any_of(hop.slots, &Slot::used)) return false;
  }
  Free(stream);
  return true;
}

void Switch::Free(StreamId stream) {
  Stream& about = streams_[stream];
  for (const uint16_t lane : about.lanes) {
    if (lane == kNone) continue;
    std::erase(ports_[lanes_[lane].owner].lanes, lane);
    pipeline_.table(Stage::kWindow).EraseOf(lane);
    lanes_[lane] = {};
  }
  for (const uint16_t hop : about.hops) {
    if (hop == kNone) continue;
    std::erase(ports_[hops_[hop].spec.port].hops, hop);
    hops_[hop] = {};
  }
  for (const Stage stage : {Stage::kSelect, Stage::kPolicy, Stage::kHealth, Stage::kRoute})
    pipeline_.table(stage).EraseOf(stream);
  about = {};
}

uint64_t Switch::MessagesFrom(StreamId stream, NodeId node) const {
  const uint16_t lane = streams_[stream].lanes[node];
  return lane == kNone ? 0 : lanes_[lane].messages;
}

uint64_t Switch::MessagesTo(StreamId stream, NodeId node) const {
  const uint16_t hop = streams_[stream].hops[node];
  return hop == kNone ? 0 : hops_[hop].messages;
}

std::vector<State> Switch::States(StreamId stream) const {
  std::vector<State> states;
  for (const uint16_t hop : streams_[stream].hops)
    states.push_back(hop == kNone ? State{} : hops_[hop].spec.state);
  return states;
}

// Checks a stream before it is set up: sizes, edges, and room in the tables.

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
    if (!std::has_single_bit(about.slots))
      return At(node, "the number of its slots must be a power of two");
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
  // If devices die, every node may need an entry in the health table.
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
