// SPDX-License-Identifier: BSD-3-Clause
//
// Output side: schedules a port's nodes and formats messages for their receivers.
#include <algorithm>
#include <cstring>

#include "device/switch/switch.h"

namespace sluice::device::pcie_switch {
namespace {

constexpr uint32_t kFreeShare = 4;  ///< Credits are returned when 1/kFreeShare of a window is free.

void WriteWord(uint64_t address, PortId port, uint64_t word, Tlp& out) {
  out.kind = TlpKind::kWrite;
  out.refused = false;
  out.requester = port;
  out.address = address;
  out.length = sizeof word;
  StoreTo(out.payload.data(), word);
}

/// Copies `count` bytes from offset `from` of a header (if any) followed by the data.
void CopyPiece(const MessageHeader* header, const Held& held, uint32_t from, uint32_t count,
               uint8_t* to) {
  const uint32_t header_bytes = header != nullptr ? sizeof *header : 0;
  const uint32_t head = from < header_bytes ? std::min(count, header_bytes - from) : 0;
  if (head != 0) std::memcpy(to, reinterpret_cast<const uint8_t*>(header) + from, head);
  if (count != head)
    std::memcpy(to + head, held.data.data() + (from + head - header_bytes), count - head);
}

}  // namespace

bool Switch::Next(PortId port, Tlp& out) {
  Port& leaving = ports_[port];
  if (leaving.dead) return false;
  if (!leaving.first.empty()) {
    out = leaving.first.front();
    leaving.first.pop_front();
    return true;
  }
  for (const uint16_t lane : leaving.lanes)
    if (ReturnCredits(lanes_[lane], out)) return true;
  // Round robin over the nodes and the TLPs outside streams.
  const auto turns = static_cast<uint32_t>(leaving.hops.size()) + 1;
  for (uint32_t i = 0; i < turns; ++i) {
    const uint32_t turn = (leaving.turn + i) % turns;
    bool sent = false;
    if (turn < leaving.hops.size()) {
      sent = Send(hops_[leaving.hops[turn]], out);
    } else if (!leaving.forwarded.empty()) {
      out = leaving.forwarded.front();
      leaving.forwarded.pop_front();
      sent = true;
    }
    if (!sent) continue;
    leaving.turn = (turn + 1) % turns;
    return true;
  }
  return false;
}

/// Writes the returned credits for the lane's sender to `out`: all of them if the lane is empty,
/// else once they are worth a TLP (kFreeShare). Returns false if there is nothing to send.
bool Switch::ReturnCredits(Lane& lane, Tlp& out) {
  if (lane.control == 0 || lane.legacy || parameters_.flow_control == FlowControl::kPort)
    return false;
  const uint64_t news = lane.freed - lane.reported;
  if (news == 0) return false;
  if (lane.freed != lane.received && news < std::max(1u, lane.capacity / kFreeShare)) return false;
  lane.reported = lane.freed;
  WriteWord(lane.control, lane.owner, lane.freed, out);
  return true;
}

/// Returns the next TLP of a lane for a node, or null. If `begins` is true, it must be the first
/// TLP of a message, otherwise a TLP of the message that is being sent.
Held* Switch::Pending(const Hop& hop, uint16_t lane, bool begins) {
  Ring& ring = rings_[lanes_[lane].ring];
  const uint32_t seen =
      parameters_.flow_control == FlowControl::kPort ? std::min(ring.size(), 1u) : ring.size();
  for (uint32_t i = 0; i < seen; ++i) {
    Held& held = ring[i];
    if (held.lane != lane || (held.targets >> hop.node & 1) == 0) continue;
    return (begins ? held.first : held.sequence == hop.sequence) ? &held : nullptr;
  }
  return nullptr;
}

/// Selects the lane of the next message; messages of different lanes are never interleaved.
/// Messages of dead devices come first, because they are older than those that bypass the device.
bool Switch::BeginSending(Hop& hop) {
  const std::vector<uint16_t>& lanes = streams_[hop.stream].lanes;
  const auto count = static_cast<uint32_t>(lanes.size());
  const auto begin = [&](uint32_t node) {
    const Held* const held = lanes[node] == kNone ? nullptr : Pending(hop, lanes[node], true);
    if (held == nullptr) return false;
    hop.busy = true;
    hop.lane = lanes[node];
    hop.sequence = held->sequence;
    hop.done = 0;
    hop.partial = false;
    hop.turn = (node + 1) % count;
    return true;
  };
  for (uint32_t node = count; node-- > 0;) {
    if (lanes[node] != kNone && ports_[lanes_[lanes[node]].owner].dead && begin(node)) return true;
  }
  for (uint32_t i = 0; i < count; ++i)
    if (begin((hop.turn + i) % count)) return true;
  return false;
}

MessageHeader Switch::HeaderFor(const Hop& hop, const Held& held) const {
  return {.stream = hop.stream,
          .message = held.message,
          .length = held.message_length,
          .flags = 0,
          .command = hop.spec.command,
          .node = hop.node,
          .key = held.key,
          .state = hop.spec.state};
}

/// Writes the next TLP for a node, split at the buffer's end and at the maximum payload.
bool Switch::Send(Hop& hop, Tlp& out) {
  if (hop.spec.kind == NodeKind::kLegacy) return Feed(hop, out);
  if (hop.aborted) {
    hop.aborted = false;
    WriteWord(hop.spec.control + 8, hop.spec.port, hop.sent, out);
    return true;
  }
  if (!hop.busy && !BeginSending(hop)) return false;
  Held* const held = Pending(hop, hop.lane, false);
  if (held == nullptr) return false;
  const uint32_t total = held->length + (held->first ? sizeof(MessageHeader) : 0);
  const auto at = static_cast<uint32_t>(hop.sent % hop.spec.buffer_bytes);
  const uint32_t count = std::min({kMaxPayload, total - hop.done, hop.spec.buffer_bytes - at});
  const bool whole = hop.done + count == total;
  const uint64_t after = whole && held->last ? RoundUp(hop.sent + count) : hop.sent + count;
  if (parameters_.flow_control == FlowControl::kStream &&
      after - hop.consumed > hop.spec.buffer_bytes) {
    return false;
  }
  out.kind = TlpKind::kWrite;
  out.refused = false;
  out.requester = lanes_[hop.lane].owner;
  out.address = hop.spec.buffer + at;
  out.length = count;
  const MessageHeader header = HeaderFor(hop, *held);
  CopyPiece(held->first ? &header : nullptr, *held, hop.done, count, out.payload.data());
  if (held->first && hop.done == 0) hop.CountState();
  hop.sent = after;
  hop.done += count;
  hop.partial = true;
  if (whole) Sent(hop, *held);
  return true;
}

/// Updates the state after a whole TLP was sent to a node.
void Switch::Sent(Hop& hop, Held& held) {
  held.targets &= static_cast<NodeMask>(~(1u << hop.node));
  hop.done = 0;
  if (held.last) {
    hop.busy = hop.partial = false;
    ++hop.messages;
  }
  Reclaim(lanes_[hop.lane].ring);
}

void Switch::Reclaim(uint16_t index) {
  Ring& ring = rings_[index];
  while (ring.size() != 0 && ring[0].targets == 0) {
    lanes_[ring[0].lane].freed += ring[0].granules;
    ring.PopFront();
  }
}

}  // namespace sluice::device::pcie_switch
