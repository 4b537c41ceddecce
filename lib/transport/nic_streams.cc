// SPDX-License-Identifier: BSD-3-Clause
#include "transport/nic_streams.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "packet/bytes.h"
#include "transport/record_frame.h"

namespace sluice::transport {

namespace layout = regs::transport;

namespace {

/// Returns the headers of the host's records. The addresses, 192.0.0.8 (RFC 7600), and ports never
/// leave the NIC.
RecordFrame MakeHeaders() {
  RecordFrame frame{};
  constexpr packet::Ipv4Address kDummy{192, 0, 0, 8};
  WriteRecordHeaders(frame, kDummy, kDummy, 0, 0);
  return frame;
}
const RecordFrame kHeaders = MakeHeaders();
constexpr uint64_t kMacMask = (uint64_t{1} << 48) - 1;

}  // namespace

// ---- From the unit ----

bool NicStreams::Input(const uint8_t* frame, uint32_t bytes) {
  if (bytes < layout::kRecordBytes) return false;
  Watch();  // The unit may have been started again.
  if ((packet::Load<uint64_t>(frame + 6) & kMacMask) != unit_mac_) return false;
  layout::Record record;
  std::memcpy(&record, frame + layout::kRecordOffset, sizeof(record));
  const ConnectionId id = record.connection;
  if (id >= rings_.connections) return true;
  if ((record.flags & layout::kOpened) != 0) {
    Open(id, record, frame);
  } else if (connections_[id].life == record.life) {
    Update(id, record);
  }
  return true;
}

void NicStreams::Open(ConnectionId id, const layout::Record& record, const uint8_t* frame) {
  Connection& c = connections_[id];
  const bool was_untold = c.untold;
  c = {};
  c.untold = was_untold;
  c.life = record.life;
  c.open = true;
  ++open_;
  const Peer peer{record.peer, packet::LoadBe16(frame + 34), packet::LoadBe16(frame + 36)};
  if (events_.Opened(id, peer)) {
    ++counters_.opened;
  } else {
    ++counters_.refused;
    c.open = false;
    --open_;
    c.flags = layout::kAbort;
    Tell(id);
  }
}

void NicStreams::Update(ConnectionId id, const layout::Record& record) {
  Connection& c = connections_[id];
  const uint16_t life = c.life;
  const auto is_current = [&] { return c.open && c.life == life; };
  const uint32_t arrived = record.counts.received - c.received;
  if (is_current() && arrived != 0 && arrived <= rings_.ring_bytes - (c.received - c.consumed)) {
    const uint8_t* const first = Ring(id, false) + (c.received & (rings_.ring_bytes - 1));
    c.received += arrived;
    events_.Received(id, first, arrived);
  }
  if (is_current() && record.counts.sent - c.taken <= c.written - c.taken) {
    c.taken = record.counts.sent;
    if (c.wants_room && Room(id) >= rings_.ring_bytes / 2) {
      c.wants_room = false;
      events_.RoomFreed(id);
    }
  }
  if ((record.flags & layout::kHalfClosed) != 0 && is_current() && !c.half_closed) {
    c.half_closed = true;
    events_.HalfClosed(id);
  }
  if ((record.flags & layout::kClosed) != 0 && c.life == life) {
    if (c.open) Close(id, static_cast<End>(std::min<uint8_t>(record.end, 3)));
    c.flags = layout::kRelease;
    Tell(id);
  }
}

void NicStreams::Close(ConnectionId id, End end) {
  connections_[id].open = false;
  --open_;
  counters_.CountEnd(end);
  events_.Closed(id, end);
}

void NicStreams::EndAll(uint64_t new_mac) {
  unit_mac_ = new_mac;
  untold_.clear();
  for (ConnectionId id = 0; id < rings_.connections; ++id) {
    if (connections_[id].open) Close(id, End::kReset);
    connections_[id] = {};
  }
}

std::span<const uint8_t> NicStreams::Unread(ConnectionId id, bool* more) const {
  const Connection& c = connections_[id];
  const uint32_t offset = c.consumed & (rings_.ring_bytes - 1);
  const uint32_t all = c.received - c.consumed;
  const uint32_t contiguous = std::min(all, rings_.ring_bytes - offset);
  *more = contiguous != all;
  return {Ring(id, false) + offset, contiguous};
}

// ---- To the unit ----

std::span<uint8_t> NicStreams::Space(ConnectionId id) const {
  const uint32_t offset = connections_[id].written & (rings_.ring_bytes - 1);
  return {Ring(id, true) + offset, std::min(Room(id), rings_.ring_bytes - offset)};
}

void NicStreams::Write(ConnectionId id, const uint8_t* data, uint32_t bytes) {
  Connection& c = connections_[id];
  const std::span<uint8_t> space = Space(id);
  if (data != space.data()) {
    const uint32_t first = std::min(bytes, static_cast<uint32_t>(space.size()));
    std::memcpy(space.data(), data, first);
    std::memcpy(Ring(id, true), data + first, bytes - first);
  }
  c.written += bytes;
  c.wants_room |= Room(id) < rings_.ring_bytes / 2;
}

void NicStreams::Consume(ConnectionId id, uint32_t bytes) {
  Connection& c = connections_[id];
  if (!c.open) return;
  c.consumed += bytes;
  // The record of the next answer contains the count too.
  if (c.consumed - c.told_consumed >= rings_.ring_bytes / 4) Tell(id);
}

void NicStreams::Finish(ConnectionId id) {
  Connection& c = connections_[id];
  if (!c.open || c.finished) return;
  c.finished = true;
  c.flags = layout::kFinish;
  Tell(id);
}

void NicStreams::Abort(ConnectionId id) {
  Connection& c = connections_[id];
  if (!c.open) return;
  c.flags = layout::kAbort;
  Tell(id);
  Close(id, End::kAborted);
}

void NicStreams::Tell(ConnectionId id) {
  Connection& c = connections_[id];
  if (c.untold || SendRecord(id)) return;
  ++counters_.output_failed;
  c.untold = true;
  untold_.push_back(id);
}

bool NicStreams::SendRecord(ConnectionId id) {
  Connection& c = connections_[id];
  RecordFrame frame = kHeaders;
  packet::Store(frame.data(), unit_mac_);
  layout::Record record{};
  record.flags = c.flags;
  record.connection = static_cast<uint16_t>(id);
  record.life = c.life;
  record.counts = {c.consumed, c.written};
  std::memcpy(frame.data() + layout::kRecordOffset, &record, sizeof(record));
  if (!events_.Output(frame.data(), layout::kRecordBytes)) return false;
  c.told_consumed = c.consumed;
  c.told_written = c.written;
  return true;
}

void NicStreams::Repeat() {
  for (ConnectionId id = 0; id < rings_.connections; ++id) {
    Connection& c = connections_[id];
    if ((c.open || c.flags != 0) && !std::exchange(c.untold, true)) untold_.push_back(id);
  }
}

void NicStreams::Retry() {
  while (!untold_.empty()) {
    const ConnectionId id = untold_.back();
    if (!SendRecord(id)) return;
    connections_[id].untold = false;
    untold_.pop_back();
  }
}

}  // namespace sluice::transport
