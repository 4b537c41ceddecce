// SPDX-License-Identifier: BSD-3-Clause
//
// Checks returned frames by their tags (emulator/tag.h): every frame's tag and length, the order
// within each flow, and all bytes of some frames. Several blocks may check the tags and bytes of
// frames that one queue of the host sends. They record the returns in the order in which the queue
// sent the frames. All frames of a flow return through the same queue.
//
// A frame is counted as late if its ring entry has already returned with a newer lap, because the
// frame may then be either duplicated or reordered.
#pragma once

#include <cstdint>

#include "device/grid/wire.h"

namespace sluice::device::grid {

/// A returned frame, in card memory. `data` is 16-byte aligned.
struct Returned {
  const uint8_t* data;
  uint32_t length;
};

/// The number of a returned frame consists of its ring entry and, in the upper bits, its lap.
/// Numbers increase in the order in which the frames are sent, modulo 2^32.
inline constexpr uint32_t kNoOrder = ~0u;  ///< The tag is wrong, or the frame has already returned.
inline constexpr uint32_t kEntryMask = (1u << kEntryBits) - 1;

/// A frame's tag. Reading it takes at most two loads, at any alignment.
struct Tag {
  uint32_t sequence, complement, entry, check;

  explicit Tag(const Returned& frame) {
    const uint8_t* const at = frame.data + frame.length - kTagBytes;
    const auto shift = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at) % sizeof(Quad));
    const Quad first = LoadPlain(at - shift);
    const Quad second = shift == 0 ? Quad{0, 0} : LoadPlain(at - shift + sizeof(Quad));
    // Extracts the 16 bytes that start at byte `shift` of the two quads.
    const bool upper = shift >= 8;
    const uint64_t a = upper ? first.high : first.low, b = upper ? second.low : first.high,
                   c = upper ? second.high : second.low;
    const uint32_t bits = 8 * (shift % 8);
    const uint64_t low = bits == 0 ? a : a >> bits | b << (64 - bits);
    const uint64_t high = bits == 0 ? b : b >> bits | c << (64 - bits);
    sequence = static_cast<uint32_t>(low);
    complement = static_cast<uint32_t>(low >> 32);
    entry = static_cast<uint32_t>(high);
    check = static_cast<uint32_t>(high >> 32);
  }
};

/// Extends a frame's number to 64 bits; `lap` is the newest lap on the wire.
inline uint64_t WholeOrder(uint32_t order, uint32_t lap) {
  const uint32_t behind = (lap - (order >> kEntryBits)) & (~0u >> kEntryBits);
  return uint64_t{lap - behind} << kEntryBits | (order & kEntryMask);
}

/// Results of the checks of a turn's frames, in the block's shared memory. Each array has room for
/// all of the turn's frames.
struct Findings {
  uint32_t* orders;   ///< Number of each frame, or kNoOrder.
  uint32_t* flows;    ///< Flow of each frame that has a number.
  uint32_t* scratch;  ///< Scratch space.
};

/// Checks the tag and the length of frame `i`, and finds its number and its flow. `newest_lap` is
/// the newest lap on the wire. May be called by any thread and for a queue's frames in any order.
inline void CheckTag(Card& card, const WireShape& shape, const Returned& frame, uint64_t now_ns,
                     uint32_t newest_lap, const Findings& findings, uint32_t i) {
  Counters& counters = card.counters;
  const auto refuse = [&counters](WireEvent event) { Add(&counters[event], uint64_t{1}); };
  findings.orders[i] = kNoOrder;
  if (frame.length < kTagBytes) return refuse(WireEvent::kCorrupted);
  const Tag tag(frame);
  const uint32_t sequence = tag.sequence, complement = tag.complement, entry = tag.entry,
                 nonce = tag.entry ^ tag.check;
  if (~sequence != complement || nonce != shape.nonce || entry >= shape.entries) {
    // Each run's nonce contains the run's number and a permuted copy of it.
    const uint32_t run = nonce & 0xffff;
    const bool foreign = ~sequence == complement && nonce != shape.nonce &&
                         nonce >> 16 == ((run * 0x9e37u ^ 0x536cu) & 0xffff);
    return refuse(foreign ? WireEvent::kForeign : WireEvent::kCorrupted);
  }
  const uint64_t sent = Load(&shape.sent_ns[entry]);
  const RingFrame origin = shape.frames[entry];
  const uint32_t in_laps = sequence - origin.rank;
  const uint32_t lap = in_laps / shape.per_lap;
  if (origin.length != frame.length || lap * shape.per_lap != in_laps) {
    return refuse(WireEvent::kCorrupted);
  }
  const uint32_t behind = newest_lap - lap;
  if (static_cast<int32_t>(behind) < 0)
    return refuse(WireEvent::kCorrupted);  // The frame has not
                                           // been sent yet.
  if (behind > ~0u >> kEntryBits) return refuse(WireEvent::kLate);
  const uint32_t order = lap << kEntryBits | entry;
  findings.orders[i] = order;
  findings.flows[i] = origin.flow;
  // Without a rate limit, the latency of only one frame in four is sampled.
  if (shape.per_ns != 0 || (order * 0x9e37'79b1u) >> 30 == 0) {
    Add(&counters.latency[LatencyBucket(now_ns > sent ? now_ns - sent : 0)], uint64_t{1});
  }
}

/// Records the return of a frame. Returns false if it had already returned. Each lap of a ring
/// entry is counted only once, even if several threads record it at the same time.
inline bool RecordReturn(Card& card, const WireShape& shape, uint32_t order, uint32_t newest_lap) {
  const auto lap = static_cast<uint32_t>(WholeOrder(order, newest_lap) >> kEntryBits);
  const uint32_t expected = Max(&shape.laps[order & kEntryMask], lap + 1);
  const auto ahead = static_cast<int32_t>(lap - expected);
  Counters& counters = card.counters;
  if (ahead > 0) Add(&counters[WireEvent::kGaps], static_cast<uint64_t>(ahead));
  if (ahead < 0) {
    Add(&counters[ahead == -1 ? WireEvent::kDuplicated : WireEvent::kLate], uint64_t{1});
  }
  return ahead >= 0;
}

/// Returns whether frame i begins a new run of ascending numbers. Returns false for frame 0, which
/// begins the first run. Within a run, the frames of each flow are in order.
inline bool BeginsRun(const uint32_t* orders, uint32_t i) {
  return i != 0 && (orders[i] == kNoOrder || orders[i - 1] == kNoOrder ||
                    static_cast<int32_t>(orders[i] - orders[i - 1]) < 0);
}

/// Returns how many of `count` frames, in the order in which one queue sent them, returned after a
/// later frame of their flow. `lap` is the newest lap on the wire; `late` is the number of frames
/// that returned after a later frame from an earlier turn. Runs of ascending numbers are checked
/// one after another.
inline uint64_t CountReordered(const WireShape& shape, const Team& team, const Findings& findings,
                               uint32_t count, uint32_t lap, uint64_t late) {
  const uint32_t* const orders = findings.orders;
  uint32_t* const runs_before = findings.scratch;
  uint32_t runs = 1;
  if (team.Sum(count, [&](uint32_t i) -> uint64_t { return BeginsRun(orders, i) ? 1 : 0; }) != 0) {
    team.ForEach(count, [&](uint32_t i) { runs_before[i] = BeginsRun(orders, i) ? 1 : 0; });
    runs = team.ScanExclusive(runs_before, count) + 1;
  }
  uint64_t reordered = 0;
  uint32_t first = 0;
  for (uint32_t run = 0; run < runs; ++run) {
    const auto is_of_run = [&](uint32_t i) -> uint64_t {
      const uint32_t at = first + i;
      return runs_before[at] + (BeginsRun(orders, at) ? 1 : 0) == run ? 1 : 0;
    };
    const uint32_t frames =
        runs == 1 ? count : static_cast<uint32_t>(team.Sum(count - first, is_of_run));
    const auto newest_of = [&](uint32_t i) { return &shape.flow_orders[findings.flows[i]]; };
    if (runs != 1) {
      reordered += team.Sum(frames, [&](uint32_t i) -> uint64_t {
        const uint32_t order = orders[first + i];
        return order != kNoOrder && WholeOrder(order, lap) < Load(newest_of(first + i)) ? 1 : 0;
      });
    }
    team.ForEach(frames, [&](uint32_t i) {
      const uint32_t order = orders[first + i];
      if (order != kNoOrder) Max(newest_of(first + i), WholeOrder(order, lap));
    });
    first += frames;
  }
  return runs == 1 ? late : reordered;
}

/// Records the return of `count` frames, in the order in which one queue sent them. CheckTag must
/// have been called. Clears the numbers of frames that had already returned, and returns the number
/// of the other frames. A queue's turns must call this function in the order of the queue's frames.
/// `lap` is the newest lap on the wire. Called by all threads.
inline uint64_t RecordReturns(Card& card, const WireShape& shape, const Team& team,
                              const Findings& findings, uint32_t count, uint32_t lap) {
  constexpr uint32_t kLateBit = 32;
  const uint64_t sums = team.Sum(count, [&](uint32_t i) -> uint64_t {
    const uint32_t order = findings.orders[i];
    if (order == kNoOrder) return 0;
    const uint64_t newest = Load(&shape.flow_orders[findings.flows[i]]);
    if (!RecordReturn(card, shape, order, lap)) {
      findings.orders[i] = kNoOrder;
      return 0;
    }
    return 1 | uint64_t{WholeOrder(order, lap) < newest ? 1u : 0u} << kLateBit;
  });
  const uint64_t reordered = CountReordered(shape, team, findings, count, lap, sums >> kLateBit);
  if (reordered != 0) {
    team.Lead([&] { Add(&card.counters[WireEvent::kReordered], reordered); });
  }
  return static_cast<uint32_t>(sums);
}

/// Compares the bytes of `count` returned frames with the bytes that were sent, except for bytes
/// that applications change. Returns the number of frames that differ. frame_of(i) returns the i-th
/// frame. The frame's tag must be correct, or its data must be null, in which case the frame is
/// skipped. `unequal` is scratch space for `count` words. Called by all threads.
template <typename FrameOf>
uint64_t CountChanged(const WireShape& shape, const Team& team, uint32_t count, uint32_t* unequal,
                      FrameOf frame_of) {
  team.ForEach(count, [&](uint32_t i) { unequal[i] = 0; });
  const uint32_t words = shape.largest * kFlitBytes / sizeof(uint32_t);
  team.ForEach(count * words, [&](uint32_t i) {
    const Returned frame = frame_of(i / words);
    if (frame.data == nullptr) return;
    const uint32_t at = i % words * sizeof(uint32_t), end = frame.length - kTagBytes;
    if (at + sizeof(uint32_t) <= shape.invariant || at >= end) return;
    const uint8_t* const sent =
        shape.data + uint64_t{shape.frames[Tag(frame).entry].flit} * kFlitBytes;
    const uint32_t difference = *reinterpret_cast<const uint32_t*>(frame.data + at) ^
                                Load(reinterpret_cast<const uint32_t*>(sent + at));
    uint32_t mask = ~0u;  // Mask of the compared bytes; the first byte is the lowest.
    if (at < shape.invariant) mask <<= 8 * (shape.invariant - at);
    if (at + sizeof(uint32_t) > end) mask &= ~0u >> 8 * (at + sizeof(uint32_t) - end);
    if ((difference & mask) != 0) Store(&unequal[i / words], 1u);
  });
  return team.Sum(count, [&](uint32_t i) -> uint64_t { return unequal[i]; });
}

/// Compares the bytes of every shape.verify-th of `count` frames. CheckTag must have been called.
/// frame_of(i) returns the i-th frame. Called by all threads; shape.verify must not be 0.
template <typename FrameOf>
void CompareSamples(Card& card, const WireShape& shape, const Team& team, const Findings& findings,
                    uint32_t count, FrameOf frame_of) {
  const uint32_t samples = count / shape.verify;
  if (samples == 0) return;
  const auto at = [&](uint32_t i) { return i * shape.verify + shape.verify - 1; };
  const auto has_tag = [&](uint32_t i) { return findings.orders[at(i)] != kNoOrder; };
  const uint64_t compared =
      team.Sum(samples, [&](uint32_t i) -> uint64_t { return has_tag(i) ? 1 : 0; });
  if (compared == 0) return;
  const uint64_t changed = CountChanged(shape, team, samples, findings.scratch, [&](uint32_t i) {
    return has_tag(i) ? frame_of(at(i)) : Returned{nullptr, 0};
  });
  team.Lead([&] {
    Add(&card.counters[WireEvent::kVerified], compared);
    if (changed != 0) Add(&card.counters[WireEvent::kCorrupted], changed);
  });
}

}  // namespace sluice::device::grid
