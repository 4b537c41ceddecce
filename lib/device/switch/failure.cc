// SPDX-License-Identifier: BSD-3-Clause
//
// Handles messages when a device dies or a stream fails: each is dropped and counted, or
// redirected. None is delivered partially.
#include <string>

#include "device/switch/switch.h"

namespace sluice::device::pcie_switch {
namespace {

constexpr NodeMask kEveryNode = 0xffff;

template <typename Number>
void Append(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

void Switch::Withdraw(uint16_t index, uint64_t sequence, NodeMask targets) {
  Lane& lane = lanes_[index];
  Ring& ring = rings_[lane.ring];
  for (uint32_t i = 0; i < ring.size(); ++i) {
    if (ring[i].lane == index && ring[i].sequence == sequence)
      ring[i].targets &= static_cast<NodeMask>(~targets);
  }
  if (lane.sequence == sequence) lane.targets &= static_cast<NodeMask>(~targets);
  for (const uint16_t hop_index : streams_[lane.stream].hops) {
    if (hop_index == kNone) continue;
    Hop& hop = hops_[hop_index];
    if ((targets & Bit(hop.node)) == 0 || !hop.busy || hop.lane != index ||
        hop.sequence != sequence) {
      continue;
    }
    hop.sent = RoundUp(hop.sent);
    hop.aborted |= hop.partial;
    hop.busy = hop.partial = false;
    hop.done = 0;
  }
  Reclaim(lane.ring);
}

NodeId Switch::Alive(const Stream& stream, NodeId node) const {
  for (;;) {
    const Hop& hop = hops_[stream.hops[node]];
    if (!hop.dead) return node;
    if (hop.spec.on_death != OnDeath::kBypass) return kNowhere;
    node = hop.spec.bypass;
  }
}

void Switch::SetHealth(const Hop& hop) {
  const NodeId to = Alive(streams_[hop.stream], hop.node);
  const Instruction what =
      to == kNowhere ? Instruction{.to = Field::kDrop, .value = uint64_t(Drop::kStageDead)}
                     : Instruction{.to = Field::kTarget, .value = to};
  pipeline_.table(Stage::kHealth).Set({.value = {hop.stream, hop.node}, .action = {what}});
}

/// Redirects messages of a lane from node `from` to `to`, or drops them if `to` is kNowhere or may
/// not receive them. Only for messages whose sending to `from` has not begun.
void Switch::Redirect(uint16_t index, NodeId from, NodeId to) {
  Lane& lane = lanes_[index];
  NodeMask instead = 0;
  if (to != kNowhere) {
    Fields fields;
    fields[Field::kStream] = lane.stream;
    fields[Field::kSource] = lane.owner;
    fields[Field::kSourceBit] = uint64_t{1} << lane.owner;
    fields[Field::kTargets] = Bit(to);
    instead = Targets(fields);
  }
  Ring& ring = rings_[lane.ring];
  uint64_t lost = 0;
  for (uint32_t i = 0; i < ring.size(); ++i) {
    Held& held = ring[i];
    if (held.lane != index || (held.targets & Bit(from)) == 0) continue;
    held.targets = static_cast<NodeMask>((held.targets & ~Bit(from)) | instead);
    lost += held.first;
  }
  if (instead == 0) drops_[static_cast<uint32_t>(Drop::kStageDead)] += lost;
  if (lane.coming && (lane.targets & Bit(from)) != 0)
    lane.targets = static_cast<NodeMask>((lane.targets & ~Bit(from)) | instead);
  Reclaim(lane.ring);
}

void Switch::FailHop(Hop& hop) {
  if (hop.spec.on_death == OnDeath::kFail) FailStream(hop.stream);
  if (hop.busy) {
    Count(Drop::kStageDead);
    Withdraw(hop.lane, hop.sequence, Bit(hop.node));
  }
  hop.aborted = false;
  for (Slot& slot : hop.slots) {
    if (slot.used) Count(Drop::kStageDead);
    slot.used = false;
  }
  const NodeId to = Alive(streams_[hop.stream], hop.node);
  for (const uint16_t lane : streams_[hop.stream].lanes)
    if (lane != kNone) Redirect(lane, hop.node, to);
}

void Switch::FailStream(StreamId id) {
  Stream& stream = streams_[id];
  if (!stream.used || stream.failed) return;
  stream.failed = stream.closing = true;
  for (const uint16_t index : stream.lanes) {
    if (index == kNone) continue;
    Lane& lane = lanes_[index];
    Abandon(lane, Drop::kStreamFailed);
    lane.closed = true;
    const Ring& ring = rings_[lane.ring];
    for (uint32_t i = 0; i < ring.size();) {
      if (ring[i].lane != index || ring[i].targets == 0) {
        ++i;
        continue;
      }
      Count(Drop::kStreamFailed);
      Withdraw(index, ring[i].sequence, kEveryNode);
      i = 0;
    }
  }
}

void Switch::Fail(PortId port) {
  Port& failed = ports_[port];
  if (failed.dead) return;
  failed.dead = true;
  drops_[static_cast<uint32_t>(Drop::kStageDead)] += failed.forwarded.size();
  failed.forwarded.clear();
  failed.first.clear();
  for (const uint16_t index : failed.lanes) {
    Abandon(lanes_[index], Drop::kSenderDied);
    lanes_[index].discarding = false;
    if (streams_[lanes_[index].stream].closing) lanes_[index].closed = true;
  }
  for (const uint16_t index : failed.hops) hops_[index].dead = true;
  for (const Hop& hop : hops_)
    if (hop.used && hop.dead) SetHealth(hop);
  for (const uint16_t index : failed.hops) FailHop(hops_[index]);
}

void Switch::Restore(PortId port) {
  if (!ports_[port].dead) return;
  ports_[port].dead = false;
  for (const uint16_t index : ports_[port].hops) {
    Hop& hop = hops_[index];
    hop.dead = false;
    hop.sent = hop.consumed = 0;
    hop.posted = 0;
    pipeline_.table(Stage::kHealth).EraseOf(hop.stream, hop.node);
  }
  for (const Hop& hop : hops_)
    if (hop.used && hop.dead) SetHealth(hop);
}

void Switch::AppendState(std::string& out) const {
  for (const Ring& ring : rings_) {
    Append(out, ring.size());
    for (uint32_t i = 0; i < ring.size(); ++i) {
      const Held& held = ring[i];
      Append(out, held.sequence);
      Append(out, held.lane);
      Append(out, held.targets);
      Append(out, held.length);
    }
  }
  for (const Lane& lane : lanes_) {
    Append(out, lane.closed);
    Append(out, lane.coming);
    Append(out, lane.discarding);
    Append(out, lane.offset);
    Append(out, lane.sequence);
    Append(out, lane.targets);
    Append(out, lane.received);
    Append(out, lane.freed);
    Append(out, lane.reported);
  }
  for (const Hop& hop : hops_) {
    Append(out, hop.dead);
    Append(out, hop.aborted);
    Append(out, hop.busy ? hop.lane : kNone);
    Append(out, hop.busy ? hop.sequence : 0);
    Append(out, hop.done);
    Append(out, hop.turn);
    Append(out, hop.sent);
    Append(out, hop.consumed);
    Append(out, hop.posted);
    for (const Slot& slot : hop.slots) Append(out, slot.used ? slot.sequence : ~0u);
  }
  for (const Port& port : ports_) {
    Append(out, port.turn);
    Append(out, port.first.size());
    Append(out, port.forwarded.size());
  }
  for (const uint64_t number : pipeline_.registers()) Append(out, number);
}

}  // namespace sluice::device::pcie_switch
