// SPDX-License-Identifier: BSD-3-Clause
//
// Control path: streams, policies, ranges and access rights.
#include <algorithm>
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

}  // namespace

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

}  // namespace sluice::device::pcie_switch
