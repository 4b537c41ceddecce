// SPDX-License-Identifier: BSD-3-Clause
//
// Checks frames that come back from the host by their tags (emulator/tag.h): every frame's tag and
// length, the order within each flow, and all bytes of some frames. What one queue of the host
// sends is checked by one block; the frames of a flow come back by one queue.
//
// A frame of the ring that comes back a lap behind the newest one that did is late, not
// duplicated or reordered: which of the two is not known then.
#pragma once

#include <cstdint>

#include "device/grid/wire.h"

namespace sluice::device::grid {

/// A frame that came back, in card memory. `data` is 4-byte aligned.
struct Returned {
  const uint8_t* data;
  uint32_t length;
};

/// Numbers of frames that came back, in 32 bits: a frame's place among all that were sent.
inline constexpr uint32_t kNoOrder = ~0u;  ///< Its tag is wrong, or it came back before.

inline uint32_t LoadBytes(const uint8_t* at) {
  return at[0] | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 | uint32_t{at[3]} << 24;
}

/// Any thread, for one frame: everything but the order within its flow, which is judged by what is
/// returned.
inline uint32_t CheckTag(Card& card, Wire& wire, const Returned& frame, uint64_t now_ns) {
  Counters& counters = card.counters;
  if (frame.length < kTagBytes) {
    Add(&counters[WireEvent::kCorrupted], uint64_t{1});
    return kNoOrder;
  }
  uint32_t words[4];
  const uint8_t* const tag = frame.data + frame.length - kTagBytes;
  for (uint32_t i = 0; i < 4; ++i) {
    words[i] = frame.length % 4 == 0 ? reinterpret_cast<const uint32_t*>(tag)[i]
                                     : LoadBytes(tag + 4 * i);
  }
  const uint32_t sequence = words[0], entry = words[2], nonce = words[2] ^ words[3];
  if (~sequence != words[1] || nonce != wire.nonce || entry >= wire.entries ||
      wire.frames[entry].length != frame.length) {
    // The nonce of another run is the number of the run, and the number permuted.
    const uint32_t run = nonce & 0xffff;
    const bool foreign = ~sequence == words[1] && nonce != wire.nonce &&
                         nonce >> 16 == ((run * 0x9e37u ^ 0x536cu) & 0xffff);
    Add(&counters[foreign ? WireEvent::kForeign : WireEvent::kCorrupted], uint64_t{1});
    return kNoOrder;
  }
  const uint32_t in_laps = sequence - wire.frames[entry].rank;
  const uint32_t lap = in_laps / wire.per_lap;
  if (lap * wire.per_lap != in_laps) {
    Add(&counters[WireEvent::kCorrupted], uint64_t{1});
    return kNoOrder;
  }
  const uint32_t expected = Load(&wire.laps[entry]);
  const auto ahead = static_cast<int32_t>(lap - expected);
  if (ahead < 0) {
    Add(&counters[ahead == -1 ? WireEvent::kDuplicated : WireEvent::kLate], uint64_t{1});
    return kNoOrder;
  }
  Store(&wire.laps[entry], lap + 1);
  if (ahead > 0) Add(&counters[WireEvent::kGaps], static_cast<uint64_t>(ahead));
  const uint32_t order = lap * wire.entries + entry;
  // At full rate one frame in four stands for all.
  if (wire.per_ns != 0 || (order * 0x9e37'79b1u) >> 30 == 0) {
    const uint64_t sent = Load(&wire.sent_ns[entry]);
    const uint64_t ns = now_ns > sent ? now_ns - sent : 0;
    Add(&counters.latency[LatencyBucket(ns)], uint64_t{1});
  }
  return order;
}

/// A run of frames whose numbers grow holds no two frames of a flow in the wrong order. True for
/// frame i if a run begins there.
inline bool BeginsRun(const uint32_t* orders, uint32_t i) {
  return i != 0 && (orders[i] == kNoOrder || orders[i - 1] == kNoOrder ||
                    static_cast<int32_t>(orders[i] - orders[i - 1]) < 0);
}

/// Judges the order of flows among `count` frames that one queue sent in this order. Runs are
/// looked at one after the other. `begins` has room for `count` words, which are overwritten.
/// Returns the frames that came back behind a later one of their flow.
inline uint64_t CountReordered(Wire& wire, const Team& team, const uint32_t* orders, uint32_t count,
                               uint32_t* begins) {
  if (count == 0) return 0;
  team.ForEach(count, [&](uint32_t i) { begins[i] = BeginsRun(orders, i) ? 1 : 0; });
  const uint32_t runs = team.ScanExclusive(begins, count) + 1;
  uint64_t reordered = 0;
  const uint64_t newest = team.Agree([&] { return Load(&wire.position); });
  uint32_t first = 0;
  for (uint32_t run = 0; run < runs; ++run) {
    // Frames from `first` on whose run is this one.
    const auto frames = static_cast<uint32_t>(team.Sum(count - first, [&](uint32_t i) -> uint64_t {
      const uint32_t at = first + i;
      return begins[at] + (BeginsRun(orders, at) ? 1 : 0) == run ? 1 : 0;
    }));
    const auto for_flows = [&](auto f) {
      return team.Sum(frames, [&](uint32_t i) -> uint64_t {
        const uint32_t order = orders[first + i];
        if (order == kNoOrder) return 0;
        const uint64_t whole = newest - static_cast<uint32_t>(static_cast<uint32_t>(newest) - order);
        return f(whole, &wire.flow_orders[wire.frames[whole % wire.entries].flow]);
      });
    };
    reordered += for_flows([](uint64_t order, uint64_t* last) -> uint64_t {
      return order < Load(last) ? 1 : 0;
    });
    for_flows([](uint64_t order, uint64_t* last) -> uint64_t {
      Max(last, order);
      return 0;
    });
    first += frames;
  }
  return reordered;
}

/// Compares all bytes of a frame that applications leave alone with those that were sent. Called by
/// all threads, for a frame whose tag is right. Returns true if they are equal.
inline bool IsUnchanged(const Wire& wire, const Team& team, const Returned& frame) {
  const uint32_t entry = LoadBytes(frame.data + frame.length - kTagBytes + 8);
  const uint8_t* const sent = wire.frames[entry].data;
  const uint32_t bytes = frame.length - kTagBytes - wire.invariant;
  return team.Sum(bytes, [&](uint32_t i) -> uint64_t {
    return frame.data[wire.invariant + i] != sent[wire.invariant + i] ? 1 : 0;
  }) == 0;
}

}  // namespace sluice::device::grid
