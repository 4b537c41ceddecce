// SPDX-License-Identifier: BSD-3-Clause
#include "device/switch/switch.h"

#include <algorithm>
#include <cstring>

namespace sluice::device::pcie_switch {
namespace {

bool Within(uint64_t address, uint64_t base, uint64_t end) {
  return address >= base && address < end;
}

constexpr uint32_t kFreeShare = 4;  ///< Credits are returned once 1/kFreeShare of a window is free.

/// Copies `count` bytes, starting at offset `from`, of a header (if any) followed by the data.
void CopyPiece(const MessageHeader* header, const Held& held, uint32_t from, uint32_t count,
               uint8_t* to) {
  const uint32_t header_bytes = header != nullptr ? sizeof *header : 0;
  const uint32_t head = from < header_bytes ? std::min(count, header_bytes - from) : 0;
  if (head != 0) std::memcpy(to, reinterpret_cast<const uint8_t*>(header) + from, head);
  if (count != head)
    std::memcpy(to + head, held.data.data() + (from + head - header_bytes), count - head);
}

constexpr NodeMask kEveryNode = 0xffff;

template <typename Number>
void Append(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

// Input side: classifies a TLP and determines which nodes get its message.

bool Switch::Accept(PortId port, const Tlp& tlp) {
  const uint32_t most = tlp.kind == TlpKind::kRead ? kMaxReadRequest : kMaxPayload;
  if (port >= parameters_.ports || tlp.length > most || ports_[port].dead) {
    Count(Drop::kClosed);
    return true;
  }
  if (tlp.kind == TlpKind::kCompletion || !Within(tlp.address, kSwitchBase, kSwitchEnd))
    return AcceptForward(port, tlp);
  if (tlp.kind == TlpKind::kRead) {
    Read(port, tlp);
    return true;
  }
  if (Within(tlp.address, kWindows, kSwitchEnd)) return AcceptStream(port, tlp);
  if (Within(tlp.address, kRegisters, kGlueMemory)) {
    AcceptCredits(port, tlp);
  } else {
    Count(Drop::kForbidden);  // The only switch memory that devices may read is the memory for
                              // legacy devices.
  }
  return true;
}

bool Switch::AcceptForward(PortId port, const Tlp& tlp) {
  PortId to = tlp.requester;
  bool registers = false;
  if (tlp.kind != TlpKind::kCompletion) {
    const auto after = std::ranges::upper_bound(ranges_, tlp.address, {}, &Range::base);
    const Range* const range = after == ranges_.begin() ? nullptr : &*(after - 1);
    const bool inside = range != nullptr && tlp.address - range->base < range->bytes &&
                        tlp.length <= range->bytes - (tlp.address - range->base);
    if (!inside || (range->allowed >> port & 1) == 0) {
      Count(inside ? Drop::kForbidden : Drop::kNoWindow);
      if (tlp.kind == TlpKind::kRead) Refuse(port, tlp);
      return true;
    }
    to = range->port;
    registers = range->registers && tlp.kind == TlpKind::kWrite;
  } else if (to >= parameters_.ports) {
    Count(Drop::kNoWindow);
    return true;
  }
  if (ports_[to].dead) {
    Count(Drop::kStageDead);
    if (tlp.kind == TlpKind::kRead) Refuse(port, tlp);
    return true;
  }
  std::deque<Tlp>& waiting = registers ? ports_[to].first : ports_[to].forwarded;
  if (waiting.size() >= parameters_.port_tlps) return false;
  waiting.push_back(tlp);
  if (tlp.kind != TlpKind::kCompletion) waiting.back().requester = port;
  return true;
}

bool Switch::AcceptStream(PortId port, const Tlp& tlp) {
  Fields fields;
  fields[Field::kWindow] = (tlp.address - kWindows) >> kWindowShift;
  fields[Field::kSource] = port;
  fields[Field::kSourceBit] = uint64_t{1} << port;
  if (!pipeline_.Run(Stage::kWindow, fields)) {
    Count(Drop::kNoWindow);
    return true;
  }
  if (fields[Field::kDrop] != 0) {
    ++drops_[fields[Field::kDrop]];
    return true;
  }
  Lane& lane = lanes_[fields[Field::kLane]];
  const uint32_t granules = Granules(tlp.length);
  const bool fits = rings_[lane.ring].Fits(granules);
  if (!fits && !lane.closed && parameters_.flow_control == FlowControl::kPort) return false;
  lane.received += granules;
  lane.freed += granules;  // If the TLP is stored, Hold subtracts the granules again.
  const auto offset = static_cast<uint32_t>(tlp.address & ((1u << kWindowShift) - 1));
  const bool follows = lane.coming && offset == lane.offset && tlp.length <= lane.end - lane.offset;
  if (lane.closed) {
    // A legacy device may still answer after its stream has failed.
    if (lane.legacy && offset == 0 && tlp.length >= sizeof(LegacyRecord))
      Answered(hops_[streams_[lane.stream].hops[lane.node]],
               LoadFrom<LegacyRecord>(tlp.payload.data()));
    Count(Drop::kClosed);
  } else if (granules == 0) {
    Count(Drop::kBadHeader);
  } else if (!fits) {
    if (offset == 0 && !lane.coming) Count(Drop::kOverrun);
    Abandon(lane, Drop::kOverrun);
    lane.discarding = true;
  } else if (offset == 0) {
    Abandon(lane, Drop::kCut);
    Begin(lane, tlp, fields);
  } else if (follows) {
    Hold(lane, tlp, 0, /*first=*/false);
  } else {
    if (!lane.coming && !lane.discarding) Count(Drop::kGap);
    Abandon(lane, Drop::kGap);
    lane.discarding = true;
  }
  return true;
}

/// Parses the header of a message. Returns false if it was dropped and counted.
bool Switch::ReadHeader(Lane& lane, const Tlp& tlp, Held& about, uint32_t& skip) {
  about = {};
  const uint32_t max_message = streams_[lane.stream].max_message;
  skip = lane.legacy ? sizeof(LegacyRecord) : sizeof(MessageHeader);
  Drop wrong = tlp.length < skip ? Drop::kBadHeader : Drop::kNone;
  if (wrong == Drop::kNone && lane.legacy) {
    const auto record = LoadFrom<LegacyRecord>(tlp.payload.data());
    const Slot* const slot = Answered(hops_[streams_[lane.stream].hops[lane.node]], record);
    if (slot == nullptr) {
      wrong = Drop::kBadRecord;
    } else {
      about.message = slot->message;
      about.message_length = record.length;
      about.key = {record.key, slot->key1};
      if (record.status != 0) wrong = Drop::kRefused;
    }
  } else if (wrong == Drop::kNone) {
    const auto header = LoadFrom<MessageHeader>(tlp.payload.data());
    about.message = header.message;
    about.message_length = header.length;
    about.key = header.key;
  }
  if (wrong == Drop::kNone && about.message_length > max_message) wrong = Drop::kTooLong;
  if (wrong == Drop::kNone && tlp.length - skip > about.message_length) wrong = Drop::kBadHeader;
  if (wrong != Drop::kNone) Count(wrong);
  return wrong == Drop::kNone;
}

/// Begins a message: finds its targets.
void Switch::Begin(Lane& lane, const Tlp& tlp, Fields& fields) {
  uint32_t skip = 0;
  lane.discarding = true;
  if (!ReadHeader(lane, tlp, lane.about, skip)) return;
  fields[Field::kLength] = lane.about.message_length;
  fields[Field::kKey0] = lane.about.key[0];
  fields[Field::kKey1] = lane.about.key[1];
  pipeline_.Run(Stage::kSelect, fields);
  if (!pipeline_.Run(Stage::kPolicy, fields)) {
    Count(Drop::kNoEdge);
    return;
  }
  lane.targets = Targets(fields);
  if (lane.targets == 0) return;
  ++lane.sequence;
  lane.coming = true;
  lane.discarding = false;
  lane.offset = 0;
  lane.end = skip + lane.about.message_length;
  Hold(lane, tlp, skip, /*first=*/true);
}

/// Runs the stages after the policy once per target, and returns the nodes that get a copy.
NodeMask Switch::Targets(Fields& fields) {
  NodeMask targets = 0;
  for (uint64_t left = fields[Field::kTargets]; left != 0; left &= left - 1) {
    Fields copy = fields;
    copy[Field::kTarget] = static_cast<uint64_t>(__builtin_ctzll(left));
    for (const Stage stage : {Stage::kHealth, Stage::kRoute, Stage::kAccess}) {
      if (copy[Field::kDrop] == 0) pipeline_.Run(stage, copy);
    }
    if (copy[Field::kDrop] != 0) {
      ++drops_[copy[Field::kDrop]];
    } else {
      targets |= static_cast<NodeMask>(1u << copy[Field::kTarget]);
    }
  }
  return targets;
}

/// Stores a message's TLP until it has been sent to all targets.
void Switch::Hold(Lane& lane, const Tlp& tlp, uint32_t skip, bool first) {
  const uint32_t granules = Granules(tlp.length);
  Held& held = rings_[lane.ring].Push(granules);
  lane.freed -= granules;
  lane.offset += tlp.length;
  held.message = lane.about.message;
  held.message_length = lane.about.message_length;
  held.key = lane.about.key;
  held.sequence = lane.sequence;
  held.lane = streams_[lane.stream].lanes[lane.node];
  held.targets = lane.targets;
  held.length = static_cast<uint16_t>(tlp.length - skip);
  held.first = first;
  held.last = lane.offset == lane.end;
  std::memcpy(held.data.data(), tlp.payload.data() + skip, held.length);
  lane.coming = !held.last;
  lane.messages += held.last;
  if (held.targets == 0) Reclaim(lane.ring);  // All targets have died in the meantime.
}

/// Aborts the message that is being received, if any, and counts `reason`.
void Switch::Abandon(Lane& lane, Drop reason) {
  if (!lane.coming) return;
  lane.coming = false;
  Count(reason);
  Withdraw(streams_[lane.stream].lanes[lane.node], lane.sequence, static_cast<NodeMask>(~0u));
}

/// Handles a write that reports consumed bytes, or the record of a legacy device that does not send
/// messages.
void Switch::AcceptCredits(PortId port, const Tlp& tlp) {
  const uint64_t index = (tlp.address - kRegisters) / 8;
  const bool mine = index < hops_.size() && hops_[index].used && hops_[index].spec.port == port &&
                    tlp.address % 8 == 0;
  if (mine && hops_[index].spec.kind == NodeKind::kLegacy && tlp.length == sizeof(LegacyRecord)) {
    const auto record = LoadFrom<LegacyRecord>(tlp.payload.data());
    if (Answered(hops_[index], record) == nullptr) {
      Count(Drop::kBadRecord);
    } else if (record.status != 0) {
      Count(Drop::kRefused);
    }
    return;
  }
  if (mine && hops_[index].spec.kind == NodeKind::kPush && tlp.length == 8) {
    const auto consumed = LoadFrom<uint64_t>(tlp.payload.data());
    if (consumed >= hops_[index].consumed && consumed <= hops_[index].sent) {
      hops_[index].consumed = consumed;
      return;
    }
  }
  Count(Drop::kBadCredit);
}

/// Answers a read with "unsupported request". Does not answer if the port already has the maximum
/// number of waiting completions.
void Switch::Refuse(PortId port, const Tlp& tlp) {
  if (ports_[port].first.size() >= parameters_.port_tlps) return;
  ports_[port].first.push_back({.kind = TlpKind::kCompletion,
                                .refused = true,
                                .requester = port,
                                .tag = tlp.tag,
                                .payload = {}});
}

void Switch::Complete(PortId port, const Tlp& read, const uint8_t* data) {
  for (uint32_t done = 0; done < read.length; done += kMaxPayload) {
    Tlp& tlp = ports_[port].first.emplace_back();
    tlp.kind = TlpKind::kCompletion;
    tlp.requester = port;
    tlp.tag = read.tag;
    tlp.address = done;
    tlp.length = std::min(read.length - done, kMaxPayload);
    std::memcpy(tlp.payload.data(), data + done, tlp.length);
  }
}

/// Handles a read of the switch's addresses: a flush of a window, or a legacy device's read of its
/// descriptors and data.
void Switch::Read(PortId port, const Tlp& tlp) {
  if (ports_[port].first.size() >= parameters_.port_tlps) {
    Count(Drop::kBadRead);
    return;
  }
  if (tlp.address < kWindows) {
    if (ReadGlue(port, tlp)) return;
  } else {
    const uint64_t index = (tlp.address - kWindows) >> kWindowShift;
    if (index < lanes_.size() && lanes_[index].used && lanes_[index].owner == port &&
        tlp.length == sizeof(WindowReport)) {
      Lane& lane = lanes_[index];
      if (streams_[lane.stream].closing) {
        Abandon(lane, Drop::kCut);
        lane.closed = true;
      }
      std::array<uint8_t, sizeof(WindowReport)> report;
      StoreTo(report.data(), WindowReport{lane.messages, lane.received, lane.freed});
      Complete(port, tlp, report.data());
      return;
    }
  }
  Count(Drop::kBadRead);
  Refuse(port, tlp);
}

// Output side: schedules a port's nodes and formats messages for their receivers.

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
  // Round robin over the nodes and over the TLPs outside streams.
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
/// otherwise only when there are enough to be worth a TLP (kFreeShare). Returns false if there is
/// nothing to send.
bool Switch::ReturnCredits(Lane& lane, Tlp& out) {
  if (lane.control == 0 || lane.legacy || parameters_.flow_control == FlowControl::kPort)
    return false;
  const uint64_t news = lane.freed - lane.reported;
  if (news == 0) return false;
  if (lane.freed != lane.received && news < std::max(1u, lane.capacity / kFreeShare)) return false;
  lane.reported = lane.freed;
  WriteValue(lane.control, lane.owner, lane.freed, out);
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

/// Selects the lane of the next message; messages from different lanes are never interleaved.
/// Messages from dead devices come first, because they are older than those that bypass the device.
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
    WriteValue(hop.spec.control + 8, hop.spec.port, hop.sent, out);
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

/// Updates the state after a whole TLP has been sent to a node.
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

// Handles messages when a device dies or a stream fails. Each message is either dropped and
// counted, or redirected. No message is delivered partially.

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
/// not receive them. Sending to `from` must not have begun.
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

// Legacy devices: the switch acts as the driver. It keeps the descriptor ring and the data in
// internal memory, rings the doorbell, answers the device's reads, and turns the record and the
// result that the device writes to the window into a message.

/// Marks a record's descriptor as answered and returns its slot, or null if the descriptor is not
/// pending.
const Slot* Switch::Answered(Hop& hop, const LegacyRecord& record) {
  Slot& slot = hop.slots[record.sequence % hop.slots.size()];
  if (!slot.used || slot.sequence != record.sequence) return nullptr;
  slot.used = false;
  return &slot;
}

/// Returns whether there is room for the result of one more descriptor. Because legacy devices do
/// not use credits, a descriptor is posted only if there is room.
bool Switch::HasRoomForResult(const Hop& hop) const {
  const Stream& stream = streams_[hop.stream];
  const uint16_t index = stream.lanes[hop.node];
  if (index == kNone) return true;
  const Lane& lane = lanes_[index];
  const uint32_t longest = Granules(sizeof(LegacyRecord) + stream.max_message);
  const auto with_it = static_cast<uint32_t>(std::ranges::count(hop.slots, true, &Slot::used));
  const uint32_t coming = lane.coming ? Granules(lane.end - lane.offset) : 0;
  return (with_it + 1) * longest + coming <= rings_[lane.ring].free_granules();
}

bool Switch::Feed(Hop& hop, Tlp& out) {
  hop.aborted = false;  // A legacy device does not see partial messages.
  for (;;) {
    const uint32_t slot = hop.posted % static_cast<uint32_t>(hop.slots.size());
    if (!hop.busy) {
      if (hop.slots[slot].used || !HasRoomForResult(hop) || !BeginSending(hop)) return false;
      hop.filled = 0;
    }
    Held* const held = Pending(hop, hop.lane, false);
    if (held == nullptr) return false;
    const size_t slots = hop.slots.size();
    const size_t stride = hop.memory.size() / slots - kGranule;
    std::memcpy(hop.memory.data() + slots * kGranule + slot * stride + hop.filled,
                held->data.data(), held->length);
    hop.filled += held->length;
    hop.partial = true;
    const bool last = held->last;
    if (last) Post(hop, *held, out);
    Sent(hop, *held);
    if (last) return true;
  }
}

/// Posts the descriptor of the message in the slot and rings the doorbell.
void Switch::Post(Hop& hop, const Held& held, Tlp& out) {
  const auto index = static_cast<uint64_t>(&hop - hops_.data());
  const uint16_t lane = streams_[hop.stream].lanes[hop.node];
  const uint64_t memory = kGlueMemory + (index << kGlueShift);
  const size_t slots = hop.slots.size();
  const size_t slot = hop.posted % slots;
  const size_t stride = hop.memory.size() / slots - kGranule;
  hop.slots[slot] = {
      .used = true, .sequence = hop.posted, .message = held.message, .key1 = held.key[1]};
  StoreTo(hop.memory.data() + slot * kGranule,
          LegacyDescriptor{.input = memory + slots * kGranule + slot * stride,
                           .output = lane == kNone ? kRegisters + index * 8
                                                   : kWindows + (uint64_t{lane} << kWindowShift),
                           .length = held.message_length,
                           .capacity = lane == kNone ? 0 : streams_[hop.stream].max_message,
                           .command = hop.spec.command,
                           .sequence = hop.posted,
                           .state = hop.spec.state});
  hop.CountState();
  ++hop.posted;
  WriteValue(hop.spec.doorbell, hop.spec.port, hop.posted, out);
}

bool Switch::ReadGlue(PortId port, const Tlp& tlp) {
  if (tlp.address < kGlueMemory || tlp.length == 0) return false;
  const uint64_t index = (tlp.address - kGlueMemory) >> kGlueShift;
  if (index >= hops_.size() || !hops_[index].used || hops_[index].spec.port != port) return false;
  const uint64_t offset = tlp.address & ((1ull << kGlueShift) - 1);
  const std::vector<uint8_t>& memory = hops_[index].memory;
  if (offset > memory.size() || tlp.length > memory.size() - offset) return false;
  Complete(port, tlp, memory.data() + offset);
  return true;
}

}  // namespace sluice::device::pcie_switch
