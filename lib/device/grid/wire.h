// SPDX-License-Identifier: BSD-3-Clause
//
// The frame source in card memory. It repeatedly sends a ring of frames that the host built; the
// tag in each frame, if any, changes with each lap (emulator/tag.h). Receive blocks take turns to
// fetch batches, then steer and copy them in parallel. Batches pass two points in ticket order: the
// reservation of room and the publication of the frames.
#pragma once

#include <cstdint>

#include "device/grid/card.h"
#include "device/grid/team.h"
#include "device/grid/wire_state.h"

namespace sluice::device::grid {

/// A batch of consecutive frames from the ring.
struct Batch {
  uint64_t ticket;
  uint64_t position;  ///< Number of frames fetched before this batch since the ring was uploaded.
  uint32_t entry;     ///< Ring index of the batch's first frame.
  uint32_t lap;
  uint32_t count;  ///< 0: no frame is due.
  uint32_t epoch;
  uint64_t now_ns;  ///< Time at which the batch was fetched.
  uint64_t due_ns;  ///< Time at which the batch's first frame was due, if the source has a rate.
};

/// The state of the source's pacing.
struct Pace {
  uint64_t start_ns, base;
};

/// Returns how many frames of a loopback ring may be fetched as one batch.
inline uint32_t DueOfLoopback(const Wire& wire, const WireShape& shape, const Batch& batch) {
  const uint64_t waiting = LoadAcquire(&wire.loop_tail) - batch.position;
  uint32_t most =
      waiting < shape.batch_frames ? static_cast<uint32_t>(waiting) : shape.batch_frames;
  if (most == 0) return 0;
  // Returns the position of the flit after the first `count` frames or, if `count` is 0, of the
  // first flit.
  const auto flit = [&](uint32_t count) {
    const uint32_t entry = (batch.entry + count - (count != 0)) % shape.entries;
    const Quad frame = LoadQuad(&shape.frames[entry]);
    const auto length = static_cast<uint32_t>(frame.low >> 32);
    const auto first = static_cast<uint32_t>(frame.high >> 32);
    return count == 0 ? first : first + Flits(length);
  };
  const uint32_t begin = flit(0);
  if (flit(most) - begin <= shape.batch_flits) return most;
  uint32_t least = 1;  // `least` frames may be fetched; `most` are too many.
  while (most - least > 1) {
    const uint32_t middle = (least + most) / 2;
    (flit(middle) - begin <= shape.batch_flits ? least : most) = middle;
  }
  return least;
}

/// Sets the number of frames in `batch` that may be sent now (emulator/pacer.h), and the time at
/// which the first of them was due.
inline void SetDue(Card& card, Wire& wire, const WireShape& shape, bool on, Pace pace,
                   Batch& batch) {
  if (!on) return Store(&wire.start_ns, uint64_t{0});
  if (shape.looped != 0) {
    batch.count = DueOfLoopback(wire, shape, batch);
    return;
  }
  const uint64_t left = shape.limit - batch.position;
  const uint64_t most = left < shape.batch_frames ? left : shape.batch_frames;
  if (shape.per_ns == 0) {
    batch.count = static_cast<uint32_t>(most);
    return;
  }
  if (pace.start_ns == 0) {
    pace = {batch.now_ns, batch.position};
    Store(&wire.start_ns, pace.start_ns);
    Store(&wire.base, pace.base);
  }
  const double elapsed = static_cast<double>(batch.now_ns - pace.start_ns) * shape.per_ns;
  const auto allowed = static_cast<uint64_t>(elapsed);
  uint64_t behind = pace.base + allowed - batch.position;
  if (static_cast<int64_t>(behind) <= 0) return;
  constexpr uint64_t kLeast = 256;
  uint64_t tolerated = static_cast<uint64_t>(shape.per_ns * 1e7);
  if (tolerated < kLeast) tolerated = kLeast;
  if (behind > tolerated) {
    Add(&card.counters[WireEvent::kSourceLate], behind - tolerated);
    Store(&wire.base, pace.base - (behind - tolerated));
    behind = tolerated;
  }
  batch.count = static_cast<uint32_t>(behind < most ? behind : most);
  const double since_first =
      static_cast<double>(behind - 1) + elapsed - static_cast<double>(allowed);
  batch.due_ns = batch.now_ns - static_cast<uint64_t>(since_first / shape.per_ns);
}

/// Fetches the next batch if it is the turn of receive block `block` of `blocks` and frames are
/// due. Fetches less than a full batch only if all earlier batches have passed the reservation;
/// otherwise many small batches would wait for each other while more frames became due. Called by
/// one thread.
inline Batch FetchBatch(Card& card, Wire& wire, const WireShape& shape, uint32_t block,
                        uint32_t blocks) {
  Batch batch{};
  batch.ticket = LoadAcquire(&wire.taken);
  if (batch.ticket % blocks != block) return batch;
  // These loads overlap.
  const uint32_t epoch = Load(&wire.epoch), on = Load(&card.wire_on);
  const uint64_t reserved = Load(&wire.reserved);
  const Pace pace = {Load(&wire.start_ns), Load(&wire.base)};
  batch.epoch = Load(&wire.back_epoch);
  batch.position = Load(&wire.position);
  batch.entry = Load(&wire.entry);
  batch.lap = Load(&wire.lap);
  const bool back = batch.epoch != epoch;
  if (back) {
    FenceCard();
    Store(&wire.epoch, batch.epoch);
    batch.position = Load(&wire.back_position);
    batch.entry = Load(&wire.back_entry);
    batch.lap = Load(&wire.back_lap);
  }
  batch.now_ns = NowNs();
  SetDue(card, wire, shape, on != 0, pace, batch);
  if (batch.count < shape.batch_frames && reserved != batch.ticket) batch.count = 0;
  if (batch.count == 0 && !back) return batch;
  const uint32_t next = batch.entry + batch.count;
  const bool wraps = next >= shape.entries;
  Store(&wire.position, batch.position + batch.count);
  Store(&wire.entry, wraps ? next - shape.entries + shape.repeat_from : next);
  Store(&wire.lap, batch.lap + (wraps ? 1 : 0));
  if (batch.count == 0) return batch;
  StoreRelease(&wire.taken, batch.ticket + 1);
  return batch;
}

/// Puts back a batch and all batches that were fetched after it. Called by one thread between
/// AwaitTurn and EndTurn for the reservation.
inline void PutBack(Wire& wire, const Batch& batch) {
  Store(&wire.back_position, batch.position);
  Store(&wire.back_entry, batch.entry);
  Store(&wire.back_lap, batch.lap);
  FenceCard();
  Store(&wire.back_epoch, batch.epoch + 1);
}
/// Returns whether an earlier batch was put back after this one was fetched. Called between
/// AwaitTurn and EndTurn, like PutBack.
inline bool IsStale(const Wire& wire, const Batch& batch) {
  return Load(&wire.back_epoch) != batch.epoch;
}

/// Waits until it is a ticket's turn at one of the two points. Called by one thread; blocks with
/// earlier tickets pass in bounded time.
inline void AwaitTurn(const uint64_t* point, uint64_t ticket) {
  while (LoadAcquire(point) != ticket) RelaxPoll();
}
inline void EndTurn(uint64_t* point, uint64_t ticket) { StoreRelease(point, ticket + 1); }

/// Ends the publication of a batch whose first `count` frames were delivered or dropped. For a
/// loopback, the ring entries are then free. Called by one thread.
inline void EndPublish(Wire& wire, const WireShape& shape, const Batch& batch, uint32_t count) {
  if (shape.looped != 0 && count != 0) StoreRelease(&wire.loop_head, batch.position + count);
  EndTurn(&wire.published, batch.ticket);
}

/// Returns the index of the ring entry of the batch's frame `i`.
inline uint32_t EntryOf(const WireShape& shape, const Batch& batch, uint32_t i) {
  const uint32_t entry = batch.entry + i;
  return entry >= shape.entries ? entry - shape.entries + shape.repeat_from : entry;
}

/// Returns the time from which the latency of frame `i` of a batch is measured: the time at which
/// the frame was due, if the source has a rate.
inline uint64_t SentNs(const WireShape& shape, const Batch& batch, uint32_t i) {
  if (shape.per_ns == 0) return batch.now_ns;
  return batch.due_ns + static_cast<uint64_t>(static_cast<double>(i) / shape.per_ns);
}

/// Writes the tag to frame `i` of a batch in the ring, unless frames have no tags.
inline void Stamp(const WireShape& shape, const Batch& batch, uint32_t i, const RingFrame& frame) {
  if (shape.tagged == 0) return;
  const uint32_t entry = EntryOf(shape, batch, i);
  const uint32_t lap = batch.lap + (entry < batch.entry ? 1 : 0);
  const uint32_t sequence = lap * shape.per_lap + frame.rank;
  uint8_t* const tag = shape.data + uint64_t{frame.flit} * kFlitBytes + frame.length - kTagBytes;
  const uint64_t both = sequence | uint64_t{~sequence} << 32;
  if (frame.length % 4 == 0) {
    Store(reinterpret_cast<uint32_t*>(tag), sequence);
    Store(reinterpret_cast<uint32_t*>(tag) + 1, ~sequence);
  } else {
    for (uint32_t byte = 0; byte < 8; ++byte) {
      Store(&tag[byte], static_cast<uint8_t>(both >> 8 * byte));
    }
  }
  Store(&shape.sent_ns[entry], SentNs(shape, batch, i));
}

}  // namespace sluice::device::grid
