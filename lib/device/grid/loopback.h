// SPDX-License-Identifier: BSD-3-Clause
//
// The loopback wire of a card: the blocks that send append the frames to the ring from which the
// blocks that receive fetch batches. Each ring entry has space for the longest frame. Like batches
// (wire.h), appends reserve entries and publish frames in ticket order.
#pragma once

#include <cstdint>

#include "device/grid/samples.h"
#include "device/grid/wire.h"

namespace sluice::device::grid {

/// Number of ring entries, and number of flits per entry.
inline constexpr uint32_t kLoopEntries = 4096;
inline constexpr uint32_t kLoopFlits = 152;

/// Appends all frames with a length greater than 0 to the ring. Frames that do not fit are dropped
/// and counted. The arguments are those of HashFrames. Called by all threads.
template <typename FrameOf>
void LoopFrames(Card& card, const WireShape& shape, const Team& team, uint32_t count,
                uint32_t* indices, uint32_t* flits, FrameOf frame_of) {
  Wire& wire = card.wire;
  // Like a MAC, pads short frames with zeros.
  constexpr uint32_t kLeastBytes = 60;
  const auto length_of = [&](const Returned& frame) {
    return frame.length > kLeastBytes || frame.length == 0 ? frame.length : kLeastBytes;
  };
  const auto flits_of = [&](const Returned& frame) { return Flits(length_of(frame)); };
  team.ForEach(count, [&](uint32_t i) {
    const Returned frame = frame_of(i);
    indices[i] = frame.length != 0 ? 1 : 0;
    flits[i] = flits_of(frame);
  });
  const uint32_t wanted = team.ScanExclusive(indices, count);
  if (wanted == 0) return;
  team.ScanExclusive(flits, count);

  const uint64_t ticket = team.Agree([&] { return Add(&wire.loop_taken, uint64_t{1}); });
  const auto accepted = static_cast<uint32_t>(team.Agree([&] {
    AwaitTurn(&wire.loop_reserved, ticket);
    const uint64_t room = kLoopEntries - (Load(&wire.loop_end) - LoadAcquire(&wire.loop_head));
    return wanted < room ? wanted : room;
  }));
  const uint64_t first = Load(&wire.loop_end);
  const uint32_t first_flit = Load(&wire.loop_flits);
  const uint64_t total = team.Sum(count, [&](uint32_t i) -> uint64_t {
    return indices[i] < accepted ? flits_of(frame_of(i)) : 0;
  });
  team.One([&] {
    Store(&wire.loop_end, first + accepted);
    Store(&wire.loop_flits, first_flit + static_cast<uint32_t>(total));
    EndTurn(&wire.loop_reserved, ticket);
    if (wanted != accepted) {
      Add(&card.counters[WireEvent::kLoopbackFull], uint64_t{wanted - accepted});
    }
  });

  const auto entry_of = [&](uint32_t i) {
    return static_cast<uint32_t>((first + indices[i]) % kLoopEntries);
  };
  team.ForEach(count, [&](uint32_t i) {
    const Returned frame = frame_of(i);
    if (frame.length == 0 || indices[i] >= accepted) return;
    RingFrame& entry = shape.frames[entry_of(i)];
    Store(&entry.length, length_of(frame));
    Store(&entry.rank, first_flit + flits[i]);
  });
  // Only four threads copy each frame, because the shortest frames have only one flit.
  constexpr uint32_t kStride = 4;
  team.ForEach(count * kStride, [&](uint32_t i) {
    const Returned frame = frame_of(i / kStride);
    if (frame.length == 0 || indices[i / kStride] >= accepted) return;
    uint8_t* const to = shape.data + uint64_t{entry_of(i / kStride)} * kLoopFlits * kFlitBytes;
    const uint32_t end = flits_of(frame) * kFlitBytes;
    for (uint32_t at = i % kStride * kFlitBytes; at < end; at += kStride * kFlitBytes) {
      for (uint32_t part = at; part < at + kFlitBytes; part += sizeof(Quad)) {
        StoreQuad(to + part, PartOf(frame, part));
      }
    }
  });
  team.ForEach(kTeamThreads, [&](uint32_t) { FenceCard(); });
  team.One([&] {
    AwaitTurn(&wire.loop_published, ticket);
    StoreRelease(&wire.loop_tail, first + accepted);
    EndTurn(&wire.loop_published, ticket);
  });
}

/// Handles the frames that one queue has sent, if the frames have no tags. The arguments are those
/// of HashFrames. Called by all threads.
template <typename FrameOf>
void KeepFrames(Card& card, const WireShape& shape, const Team& team, uint32_t count, uint32_t* low,
                uint32_t* high, FrameOf frame_of) {
  if (shape.looped != 0) {
    LoopFrames(card, shape, team, count, low, high, frame_of);
  } else if (shape.tagged == 0) {
    RecordFrames(card, shape, team, count, low, high, frame_of);
  }
}

}  // namespace sluice::device::grid
