// SPDX-License-Identifier: BSD-3-Clause
//
// The source of frames in the card's memory. A ring of frames that the host built beforehand is
// sent again and again; a tag in each frame changes with each lap (emulator/tag.h). Blocks that
// receive take batches of it by ticket, steer and copy them side by side, and pass two points in
// the order of their tickets: where room is reserved, and where the frames are published.
#pragma once

#include <cstdint>

#include "device/grid/card.h"
#include "device/grid/team.h"
#include "device/grid/wire_state.h"

namespace sluice::device::grid {

/// A batch of the ring.
struct Batch {
  uint64_t ticket;
  uint64_t start;
  uint32_t count;  ///< 0: nothing is due.
  uint32_t epoch;
};

inline void Lock(uint32_t* lock) {
  while (CompareExchange(lock, 0, 1) != 0) Relax();
  FenceCard();
}
inline void Unlock(uint32_t* lock) {
  FenceCard();
  Store(lock, 0u);
}

/// Frames that may be sent now (emulator/pacer.h). The lock is held.
inline uint32_t Due(Card& card, Wire& wire) {
  if (Load(&card.wire_on) == 0) {
    wire.start_ns = 0;
    return 0;
  }
  const uint64_t now = NowNs();
  if (wire.start_ns == 0) {
    wire.start_ns = now;
    wire.base = wire.position;
  }
  uint64_t due = wire.batch_frames;
  if (wire.limit - wire.position < due) due = wire.limit - wire.position;
  if (wire.per_ns == 0) return static_cast<uint32_t>(due);
  const auto allowed =
      static_cast<uint64_t>(static_cast<double>(now - wire.start_ns) * wire.per_ns);
  uint64_t behind = wire.base + allowed - wire.position;
  if (static_cast<int64_t>(behind) <= 0) return 0;
  constexpr uint64_t kLeast = 256;
  uint64_t tolerated = static_cast<uint64_t>(wire.per_ns * 1e7);
  if (tolerated < kLeast) tolerated = kLeast;
  if (behind > tolerated) {
    Add(&card.counters[WireEvent::kSourceLate], behind - tolerated);
    wire.base -= behind - tolerated;
    behind = tolerated;
  }
  return static_cast<uint32_t>(behind < due ? behind : due);
}

/// Takes the next batch. One thread.
inline Batch TakeBatch(Card& card, Wire& wire) {
  Lock(&wire.lock);
  const Batch batch{wire.tickets, wire.position, Due(card, wire), wire.epoch};
  if (batch.count != 0) {
    ++wire.tickets;
    wire.position += batch.count;
  }
  Unlock(&wire.lock);
  return batch;
}

/// Puts a batch back, and with it all that were taken after it. Called at the first point, by one
/// thread.
inline void PutBack(Wire& wire, const Batch& batch) {
  Lock(&wire.lock);
  ++wire.epoch;
  wire.position = batch.start;
  Unlock(&wire.lock);
}

/// Waits for the turn of a ticket at one of the two points. One thread; the blocks of earlier
/// tickets pass in bounded time.
inline void AwaitTurn(const uint64_t* point, uint64_t ticket) {
  while (Load(point) != ticket) Relax();
  FenceCard();
}
inline void EndTurn(uint64_t* point, uint64_t ticket) {
  FenceCard();
  Store(point, ticket + 1);
}

/// Writes the tag of frame number `number` into the frame of the ring that it is.
inline void Stamp(Wire& wire, uint32_t entry, uint64_t number) {
  const RingFrame& frame = wire.frames[entry];
  const auto lap = static_cast<uint32_t>(number / wire.entries);
  const uint32_t sequence = lap * wire.per_lap + frame.rank;
  uint8_t* const tag = frame.data + frame.length - kTagBytes;
  const uint64_t both = sequence | uint64_t{~sequence} << 32;
  if (frame.length % 4 == 0) {
    Store(reinterpret_cast<uint32_t*>(tag), sequence);
    Store(reinterpret_cast<uint32_t*>(tag) + 1, ~sequence);
  } else {
    for (uint32_t i = 0; i < 8; ++i) Store(&tag[i], static_cast<uint8_t>(both >> 8 * i));
  }
  Store(&wire.sent_ns[entry], NowNs());
}

}  // namespace sluice::device::grid
