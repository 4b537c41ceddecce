// SPDX-License-Identifier: BSD-3-Clause
//
// The register block: reads posted register accesses from the queues in host memory, applies each
// thread's accesses in order, and responds to the host's requests. A poll is one PCIe read per line
// of entries, because each entry contains its lap, which shows whether the entry is new
// (bar/posted_queue.h).
#pragma once

#include <cstdint>

#include "device/grid/card.h"
#include "device/grid/slot_write.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

/// Number of entries that a turn reads from a lane: two cache lines.
inline constexpr uint32_t kLookAhead = 8;

struct PostedMemory {
  Quad entries[kLanes][kLookAhead];
  SlotWrites<kLanes * kLookAhead> writes;
  Quad control;
  Quad samples;  ///< The second quad of the control line, if frames are sampled.
  Quad head;
  uint32_t turn;
  uint64_t cycles;
};

/// An entry as bar::PostedQueue stores it.
struct PostedEntry {
  uint32_t offset, epoch, bytes;
  bool is_read;
  uint32_t lap;
  uint64_t value;

  explicit PostedEntry(const Quad& quad)
      : offset(static_cast<uint32_t>(quad.low)),
        epoch(static_cast<uint32_t>(quad.low >> 32) & 0xffff),
        bytes(static_cast<uint32_t>(quad.low >> 48) & 0xff),
        is_read((quad.low >> 56 & 1) != 0),
        lap(static_cast<uint32_t>(quad.low >> 57)),
        value(quad.high) {}
};

/// Applies the new entries of a lane. `model` must have the methods Write(offset, bytes, value,
/// writes) and Read(offset, bytes). Called by one thread per lane.
template <typename Model>
void ServeLane(Card& card, Model& model, PostedMemory& memory, uint32_t lane) {
  uint8_t* const base = card.queue + card.layout.lanes + lane * card.layout.lane_bytes;
  const uint32_t first = card.heads[lane];
  uint32_t head = first;
  for (uint32_t i = 0; i < kLookAhead; ++i) {
    const PostedEntry entry(memory.entries[lane][i]);
    if (entry.lap != (head / card.layout.depth + 1) % 128) break;
    ++head;
    if (entry.epoch != card.link) continue;
    if (!entry.is_read) {
      model.Write(entry.offset, entry.bytes, entry.value, memory.writes);
      continue;
    }
    Store(reinterpret_cast<uint64_t*>(base + card.layout.reply_value),
          model.Read(entry.offset, entry.bytes));
    FenceSystem();
    Store(reinterpret_cast<uint32_t*>(base + card.layout.reply_sequence),
          static_cast<uint32_t>(entry.value));
  }
  if (head == first) return;
  card.heads[lane] = head;
  Store(reinterpret_cast<uint32_t*>(base + card.layout.head), head);
}

/// Handles the host's control line, which must have been read. Called by one thread.
inline void ServeControl(Card& card, const PostedMemory& memory) {
  const auto heartbeat = static_cast<uint32_t>(memory.control.high >> 32);
  const uint64_t now = NowNs();
  if (heartbeat != card.heartbeat || card.heartbeat_ns == 0) {
    card.heartbeat = heartbeat;
    card.heartbeat_ns = now;
  }
  const bool dead = now - card.heartbeat_ns > kHostTimeoutNs;
  Store(&card.wire_on, static_cast<uint32_t>(memory.control.low >> 32));
  Store(&card.wire.samples_read, static_cast<uint32_t>(memory.samples.low));
  if (static_cast<uint32_t>(memory.control.low) != 0 || dead) Store(&card.stopping, 1u);
}

/// Writes a report if the host requests one. Called by all threads.
inline void ServeRequest(Card& card, const Team& team, const PostedMemory& memory) {
  const auto request = static_cast<uint32_t>(memory.control.high);
  if (request == card.served) return team.Sync();
  const auto* const from = reinterpret_cast<const uint64_t*>(&card.counters);
  auto* const to = reinterpret_cast<uint64_t*>(&card.report->counters);
  team.ForEach(kCounterWords, [&](uint32_t i) {
    Store(&to[i], Load(&from[i]));
    FenceSystem();
  });
  team.One([&] {
    card.served = request;
    Store(&card.report->served, request);
  });
}

/// Polls the used lanes once. Every eighth turn also reads the control line and the mask of used
/// lanes, at the same time as the lanes. No lane is read until the link's epoch is known. Called by
/// all threads.
template <typename Model>
void ServePosted(Card& card, Model& model, const Team& team, PostedMemory& memory) {
  constexpr uint32_t kEntries = kLanes * kLookAhead;
  const uint32_t turn = memory.turn;
  const bool has_control = turn % 8 == 0;
  const bool has_head = card.queue != nullptr && (turn % 8 == 4 || card.link == 0);
  const uint64_t used = card.queue != nullptr && card.link != 0 ? card.lanes_used : 0;
  team.ForEach(kEntries + 3, [&](uint32_t i) {
    if (i == kEntries) {
      if (has_control) memory.control = LoadQuadAcquire(card.control);
      return;
    }
    if (i == kEntries + 1) {
      if (has_head) memory.head = LoadQuadAcquire(card.queue);
      return;
    }
    if (i == kEntries + 2) {
      const bool samples = has_control && card.wire.shape.samples != nullptr;
      if (samples) memory.samples = LoadQuadAcquire(&card.control->samples_read);
      return;
    }
    const uint32_t lane = i / kLookAhead, ahead = i % kLookAhead;
    if ((used >> lane & 1) == 0) return;
    const uint8_t* const base = card.queue + card.layout.lanes + lane * card.layout.lane_bytes;
    const uint32_t at = (card.heads[lane] + ahead) % card.layout.depth;
    memory.entries[lane][ahead] = LoadQuadAcquire(base + card.layout.entries + at * sizeof(Quad));
  });
  team.One([&] {
    ++memory.turn;
    memory.writes.count = 0;
    if (has_control) ServeControl(card, memory);
    if (has_head) {
      card.link = static_cast<uint32_t>(memory.head.low) & 0xffff;
      card.lanes_used = memory.head.high;
    }
    const uint64_t cycles = Cycles();
    if (memory.cycles != 0) Add(&card.counters[Phase::kElapsed], cycles - memory.cycles);
    memory.cycles = cycles;
    const auto lanes = static_cast<uint64_t>(__builtin_popcountll(used));
    Add(&card.counters[Crossing::kRegisters], lanes * kLookAhead * sizeof(Quad));
  });
  if (has_control) ServeRequest(card, team, memory);
  if (used == 0) return team.Sync();
  team.ForEach(kTeamThreads, [&](uint32_t i) {  // Lanes diverge, so each warp handles only two.
    constexpr uint32_t kEach = kTeamThreads / kLanes;
    if (i % kEach == 0 && (used >> i / kEach & 1) != 0) ServeLane(card, model, memory, i / kEach);
  });
  memory.writes.Flush(card, team);
}

}  // namespace sluice::device::grid
