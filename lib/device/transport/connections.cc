// SPDX-License-Identifier: BSD-3-Clause
#include "device/transport/connections.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "packet/bytes.h"

namespace sluice::device::transport {

namespace layout = regs::transport;
using ::sluice::transport::Peer;
using ::sluice::transport::Stack;
using ::sluice::transport::StackOptions;

namespace {

bool IsValid(const layout::Configuration& c) {
  return c.connections >= 1 && c.connections <= layout::kMaxConnections &&
         c.connections_per_peer >= 1 && std::has_single_bit(c.ring_bytes) &&
         c.ring_bytes >= layout::kMinRing && c.ring_bytes <= layout::kMaxRing &&
         c.port_count >= 1 && c.port_count <= layout::kMaxPorts &&
         c.ipv4_count <= layout::kMaxAddresses && c.ipv6_count <= layout::kMaxAddresses &&
         (c.unit_mac[0] & 1) == 0 && c.unit_mac != c.mac;
}

/// Returns the addresses; there are at most kMaxAddresses of each family.
packet::OwnAddresses OwnOf(const layout::Configuration& c) {
  packet::OwnAddresses own(c.mac);
  for (uint32_t i = 0; i < c.ipv4_count; ++i) own.Add(c.ipv4[i]);
  for (uint32_t i = 0; i < c.ipv6_count; ++i) own.Add(c.ipv6[i]);
  return own;
}

}  // namespace

bool Outgoing::Append(const uint8_t* frame, uint32_t bytes) {
  if (lengths_.size() == kMaxFrames) return false;
  bytes_.insert(bytes_.end(), frame, frame + bytes);
  lengths_.push_back(bytes);
  return true;
}

uint32_t Outgoing::Deliver(FrameSink& sink) {
  if (lengths_.empty()) return 0;
  frames_.clear();
  const uint8_t* at = bytes_.data();
  for (const uint32_t length : lengths_) {
    frames_.push_back({at, length});
    at += length;
  }
  sink.Deliver(frames_);
  bytes_.clear();
  lengths_.clear();
  return static_cast<uint32_t>(frames_.size());
}

Connections::Connections(const layout::Configuration& configuration, const bar::DmaSpace& memory,
                         Tally& tally, Outgoing& outgoing)
    : configuration_(configuration),
      memory_(memory),
      tally_(tally),
      outgoing_(outgoing),
      slots_(configuration.connections),
      slot_of_(configuration.connections) {
  // The connection that ended last is reused first, because its rings are in the caches.
  for (uint32_t i = configuration.connections; i-- > 0;) free_.push_back(i);
}

std::unique_ptr<Connections> Connections::Create(const layout::Configuration& configuration,
                                                 const bar::DmaSpace& memory, Tally& tally,
                                                 Outgoing& outgoing) {
  if (!IsValid(configuration)) return nullptr;
  std::unique_ptr<Connections> made(new Connections(configuration, memory, tally, outgoing));
  const StackOptions options{.own = OwnOf(configuration),
                             .max_connections = configuration.connections,
                             .max_connections_per_peer = configuration.connections_per_peer,
                             .seed = configuration.seed,
                             .window_bytes = configuration.ring_bytes};
  std::string error;
  made->stack_ = Stack::Create(options, *made, &error);
  if (made->stack_ == nullptr) return nullptr;
  for (uint32_t i = 0; i < configuration.port_count; ++i) {
    if (!made->stack_->Listen(configuration.ports[i])) return nullptr;
  }
  return made;
}

// ---- From TCP to the host ----

void Connections::Changed(uint32_t number) {
  if (!std::exchange(slots_[number].changed, true)) changed_.push_back(number);
}

uint8_t* Connections::At(uint32_t number, bool to_send, uint32_t position, uint32_t* bytes) {
  const uint32_t ring = configuration_.ring_bytes;
  const uint32_t offset = position & (ring - 1);
  *bytes = std::min(*bytes, ring - offset);
  uint8_t* const at = memory_.TranslateLocal(
      configuration_.rings + layout::RingsOf(number, ring) + (to_send ? ring : 0) + offset, *bytes);
  if (at == nullptr) ++Count(Event::kFaults);
  return at;
}

bool Connections::Output(const uint8_t* frame, uint32_t bytes) {
  const bool appended = outgoing_.Append(frame, bytes);
  Count(Event::kTxSegments) += appended;
  return appended;
}

bool Connections::Opened(uint32_t id, const Peer& peer) {
  if (free_.empty()) return false;  // The host has not released enough connections.
  const uint32_t number = free_.back();
  free_.pop_back();
  slots_[number] = {.state = State::kOpen,
                    .flags = layout::kOpened,
                    .life = slots_[number].life,
                    .id = id,
                    .peer = peer};
  slot_of_[id] = number;
  Changed(number);
  return true;
}

void Connections::Received(uint32_t id, const uint8_t* data, uint32_t bytes) {
  const uint32_t number = slot_of_[id];
  Slot& slot = slots_[number];
  // TCP keeps to its window, which is the size of the ring.
  while (bytes != 0) {
    uint32_t part = bytes;
    uint8_t* const to = At(number, false, slot.received, &part);
    if (to == nullptr) return stack_->Abort(id);
    std::memcpy(to, data, part);
    slot.received += part;
    Count(Event::kRxBytes) += part;
    data += part;
    bytes -= part;
  }
  Changed(number);
}

void Connections::HalfClosed(uint32_t id) {
  slots_[slot_of_[id]].flags |= layout::kHalfClosed;
  Changed(slot_of_[id]);
}

void Connections::RoomFreed(uint32_t id) { Pump(slot_of_[id]); }

void Connections::Closed(uint32_t id, ::sluice::transport::End end) {
  Slot& slot = slots_[slot_of_[id]];
  slot.state = State::kClosed;
  slot.flags |= layout::kClosed;
  slot.end = static_cast<uint8_t>(end);
  Changed(slot_of_[id]);
}

/// Writes a record's frame.
void Connections::Write(uint32_t number, bool opened, Frame& frame) const {
  const Slot& slot = slots_[number];
  uint8_t* const bytes = frame.data();
  frame.fill(0);
  packet::Store(bytes, configuration_.mac);
  packet::Store(bytes + 6, configuration_.unit_mac);
  const auto source = packet::Load<packet::Ipv4Address>(slot.peer.address.data() + 12);
  ::sluice::transport::WriteRecordHeaders(frame, source, configuration_.ipv4[0], slot.peer.port,
                                          slot.peer.local_port);
  Record record{};
  record.connection = static_cast<uint16_t>(number);
  record.life = slot.life;
  if (opened) {
    record.flags = layout::kOpened;
    record.peer = slot.peer.address;
  } else {
    record.flags = slot.flags & static_cast<uint8_t>(~layout::kOpened);
    record.end = slot.end;
    record.counts = {slot.received, slot.taken};
  }
  std::memcpy(bytes + layout::kRecordOffset, &record, sizeof(record));
}

void Connections::Report(Device& nic) {
  constexpr size_t kBatch = 64;
  std::array<Frame, kBatch> frames;
  std::array<WireFrame, kBatch> offered;
  while (!changed_.empty()) {
    // A new connection needs a record of its peer first, and one of its counts if bytes arrived.
    struct Entry {
      uint32_t number;
      bool opened, last;
    };
    std::array<Entry, kBatch> entries;
    size_t count = 0;
    for (size_t i = 0; i < changed_.size() && count + 2 <= kBatch; ++i) {
      const uint32_t number = changed_[i];
      const Slot& slot = slots_[number];
      const bool opened = (slot.flags & layout::kOpened) != 0;
      const bool counts = !opened || slot.flags != layout::kOpened || slot.received != 0;
      if (opened) entries[count++] = {number, true, !counts};
      if (counts) entries[count++] = {number, false, true};
    }
    for (size_t i = 0; i < count; ++i) {
      Write(entries[i].number, entries[i].opened, frames[i]);
      offered[i] = {frames[i].data(), layout::kRecordBytes};
    }
    const uint32_t accepted = nic.Receive({offered.data(), count}, true);
    Count(Event::kRecords) += accepted;
    for (size_t i = 0; i < accepted; ++i) {
      Slot& slot = slots_[entries[i].number];
      if (entries[i].opened) slot.flags &= static_cast<uint8_t>(~layout::kOpened);
      if (!entries[i].opened) slot.reported = slot.taken;
      if (!entries[i].last) continue;
      slot.changed = false;
      changed_.pop_front();
    }
    if (accepted != count) return;
  }
}

// ---- From the host to TCP ----

/// Resets a connection whose host broke the protocol.
void Connections::Reject(uint32_t number) {
  ++Count(Event::kBadRecords);
  if (slots_[number].state == State::kOpen) stack_->Abort(slots_[number].id);
}

void Connections::TakeRecord(const WireFrame& frame) {
  Record record;
  if (frame.length < layout::kRecordBytes) {
    ++Count(Event::kBadRecords);
    return;
  }
  std::memcpy(&record, frame.data + layout::kRecordOffset, sizeof(record));
  const uint32_t number = record.connection;
  if (number < slots_.size() && slots_[number].life != record.life) return;
  if (number >= slots_.size() || slots_[number].state == State::kFree) {
    ++Count(Event::kBadRecords);
    return;
  }
  Slot& slot = slots_[number];
  if ((record.flags & layout::kRelease) != 0) {
    if (slot.state != State::kClosed || slot.changed) return Reject(number);
    slot.state = State::kFree;
    ++slot.life;
    free_.push_back(number);
    return;
  }
  if (slot.state == State::kClosed) return;  // The host does not know it yet.
  if ((record.flags & layout::kAbort) != 0) return stack_->Abort(slot.id);
  const uint32_t processed = record.counts.received - slot.processed;
  const uint32_t written = record.counts.sent - slot.written;
  if (processed > slot.received - slot.processed ||
      written > configuration_.ring_bytes - (slot.written - slot.taken) ||
      (slot.finish && written != 0)) {
    return Reject(number);
  }
  slot.processed += processed;
  slot.written += written;
  slot.finish |= (record.flags & layout::kFinish) != 0;
  if (processed != 0) stack_->Consume(slot.id, processed);
  Pump(number);
}

/// Passes the bytes in the ring to TCP, as far as TCP has room.
void Connections::Pump(uint32_t number) {
  Slot& slot = slots_[number];
  const bool was_empty = slot.taken == slot.written;
  uint32_t room = stack_->Room(slot.id);
  while (slot.taken != slot.written && room != 0) {
    uint32_t part = std::min(slot.written - slot.taken, room);
    const uint8_t* const from = At(number, true, slot.taken, &part);
    if (from == nullptr) return stack_->Abort(slot.id);
    stack_->Write(slot.id, from, part);
    if (slot.state != State::kOpen) return;  // TCP had no memory.
    slot.taken += part;
    Count(Event::kTxBytes) += part;
    room -= part;
  }
  if (slot.finish && slot.taken == slot.written) {
    stack_->Finish(slot.id);
  } else if (!was_empty) {
    if (slot.taken != slot.written) stack_->Write(slot.id, nullptr, 0);  // Calls RoomFreed later.
    stack_->Flush(slot.id);
  }
  // The host waits for room only after it has filled half of the ring.
  if (slot.state == State::kOpen && slot.taken - slot.reported >= configuration_.ring_bytes / 4) {
    Changed(number);
  }
}

}  // namespace sluice::device::transport
