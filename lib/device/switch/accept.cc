// SPDX-License-Identifier: BSD-3-Clause
//
// Input side: classifies a TLP and finds the nodes that get its message.
#include <algorithm>
#include <cstring>

#include "device/switch/switch.h"

namespace sluice::device::pcie_switch {
namespace {

bool Within(uint64_t address, uint64_t base, uint64_t end) {
  return address >= base && address < end;
}

}  // namespace

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
    Count(Drop::kForbidden);  // Devices may only read the switch's memory for legacy devices
                              // (glue.cc).
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
    // A legacy device may answer after its stream failed.
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

/// Stores a TLP of a message until it was sent to all targets.
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
  if (held.targets == 0) Reclaim(lane.ring);  // All targets have died meanwhile.
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

/// Answers a read as unsupported. The read gets no answer if the port already has the maximum
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

}  // namespace sluice::device::pcie_switch
