// SPDX-License-Identifier: BSD-3-Clause
//
// Checks returned frames by their tags (emulator/tag.h): every frame's tag and length, the order
// within each flow, and all bytes of some frames. One block checks all frames that one queue of the
// host sends; the frames of a flow return through one queue.
//
// A frame whose ring entry has already returned with a newer lap counts as late, because it may be
// duplicated or reordered.
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
/// Numbers grow in the order of sending, modulo 2^32.
inline constexpr uint32_t kNoOrder = ~0u;  ///< The tag is wrong, or the frame returned before.
inline constexpr uint32_t kEntryMask = (1u << kEntryBits) - 1;

/// The tag of a frame. Reading it costs at most two loads, at any alignment.
struct Tag {
  uint32_t sequence, complement, entry, check;

  explicit Tag(const Returned& frame) {
    const uint8_t* const at = frame.data + frame.length - kTagBytes;
    const auto shift = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at) % sizeof(Quad));
    const Quad first = LoadPlain(at - shift);
    const Quad second = shift == 0 ? Quad{0, 0} : LoadPlain(at - shift + sizeof(Quad));
    // Extracts the 16 bytes that begin at byte `shift` of the two quads.
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

/// Extends the number of a frame to 64 bits; `lap` is the newest lap on the wire.
inline uint64_t WholeOrder(uint32_t order, uint32_t lap) {
  const uint32_t behind = (lap - (order >> kEntryBits)) & (~0u >> kEntryBits);
  return uint64_t{lap - behind} << kEntryBits | (order & kEntryMask);
}

/// Checks one frame except for its order within the batch. Returns its number or kNoOrder. Sets
/// `late` if a later frame of its flow returned in an earlier batch. Any thread may call it.
inline uint32_t CheckTag(Card& card, const WireShape& shape, const Returned& frame, uint64_t now_ns,
                         uint32_t newest_lap, bool* late) {
  Counters& counters = card.counters;
  const auto refuse = [&counters](WireEvent event) {
    Add(&counters[event], uint64_t{1});
    return kNoOrder;
  };
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
  const uint32_t expected = Load(&shape.laps[entry]);
  const uint64_t sent = Load(&shape.sent_ns[entry]);
  const RingFrame origin = shape.frames[entry];
  const uint32_t in_laps = sequence - origin.rank;
  const uint32_t lap = in_laps / shape.per_lap;
  if (origin.length != frame.length || lap * shape.per_lap != in_laps) {
    return refuse(WireEvent::kCorrupted);
  }
  const auto ahead = static_cast<int32_t>(lap - expected);
  if (ahead < 0) return refuse(ahead == -1 ? WireEvent::kDuplicated : WireEvent::kLate);
  Store(&shape.laps[entry], lap + 1);
  if (ahead > 0) Add(&counters[WireEvent::kGaps], static_cast<uint64_t>(ahead));
  const uint32_t order = lap << kEntryBits | entry;
  *late = WholeOrder(order, newest_lap) < Load(&shape.flow_orders[origin.flow]);
  // Without a rate limit, samples the latency of only one frame in four.
  if (shape.per_ns != 0 || (order * 0x9e37'79b1u) >> 30 == 0) {
    Add(&counters.latency[LatencyBucket(now_ns > sent ? now_ns - sent : 0)], uint64_t{1});
  }
  return order;
}

/// Returns true if frame i begins a new run of ascending numbers; false for frame 0, which begins
/// the first run. Frames of a flow are in order within a run.
inline bool BeginsRun(const uint32_t* orders, uint32_t i) {
  return i != 0 && (orders[i] == kNoOrder || orders[i - 1] == kNoOrder ||
                    static_cast<int32_t>(orders[i] - orders[i - 1]) < 0);
}

/// Returns how many of `count` frames, which one queue sent in this order, returned after a later
/// frame of their flow. `lap` is the newest lap on the wire, `late` the number of frames that
/// CheckTag marked late. Runs of ascending numbers are checked in sequence. `runs_before` is
/// scratch space for `count` words.
inline uint64_t CountReordered(const WireShape& shape, const Team& team, const uint32_t* orders,
                               uint32_t count, uint32_t* runs_before, uint32_t lap, uint64_t late) {
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
    const auto newest_of = [&](uint32_t order) {
      return &shape.flow_orders[shape.frames[order & kEntryMask].flow];
    };
    if (runs != 1) {
      reordered += team.Sum(frames, [&](uint32_t i) -> uint64_t {
        const uint32_t order = orders[first + i];
        return order != kNoOrder && WholeOrder(order, lap) < Load(newest_of(order)) ? 1 : 0;
      });
    }
    team.ForEach(frames, [&](uint32_t i) {
      const uint32_t order = orders[first + i];
      if (order != kNoOrder) Max(newest_of(order), WholeOrder(order, lap));
    });
    first += frames;
  }
  return runs == 1 ? late : reordered;
}

/// Compares the bytes of `count` returned frames with the bytes sent, except those that
/// applications change. Returns the number of frames that differ. frame_of(i) returns the i-th
/// frame: its tag must be correct, or its data must be null, which skips the frame. `unequal` is
/// scratch space for `count` words. Called by all threads.
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
                                *reinterpret_cast<const uint32_t*>(sent + at);
    uint32_t mask = ~0u;  // Mask of the compared bytes; the first byte is the lowest.
    if (at < shape.invariant) mask <<= 8 * (shape.invariant - at);
    if (at + sizeof(uint32_t) > end) mask &= ~0u >> 8 * (at + sizeof(uint32_t) - end);
    if ((difference & mask) != 0) Store(&unequal[i / words], 1u);
  });
  return team.Sum(count, [&](uint32_t i) -> uint64_t { return unequal[i]; });
}

/// Checks frames that one queue sent, after CheckTag: counts those that returned after a later
/// frame of their flow, and compares the bytes of every shape.verify-th frame. frame_of(i) returns
/// the i-th frame, and orders[i] is its number. `lap` and `late` are the arguments of
/// CountReordered. `scratch` has room for `count` words. Called by all threads; shape.verify is not
/// 0.
template <typename FrameOf>
void JudgeFrames(Card& card, const WireShape& shape, const Team& team, const uint32_t* orders,
                 uint32_t count, uint32_t* scratch, uint32_t lap, uint64_t late, FrameOf frame_of) {
  const uint64_t reordered = CountReordered(shape, team, orders, count, scratch, lap, late);
  const uint32_t samples = count / shape.verify;
  const auto at = [&](uint32_t i) { return i * shape.verify + shape.verify - 1; };
  uint64_t compared = 0, changed = 0;
  if (samples != 0) {
    compared = team.Sum(samples,
                        [&](uint32_t i) -> uint64_t { return orders[at(i)] != kNoOrder ? 1 : 0; });
  }
  if (compared != 0) {
    changed = CountChanged(shape, team, samples, scratch, [&](uint32_t i) {
      return orders[at(i)] != kNoOrder ? frame_of(at(i)) : Returned{nullptr, 0};
    });
  }
  team.Lead([&] {
    Add(&card.counters[WireEvent::kVerified], compared);
    if (reordered != 0) Add(&card.counters[WireEvent::kReordered], reordered);
    if (changed != 0) Add(&card.counters[WireEvent::kCorrupted], changed);
  });
}

}  // namespace sluice::device::grid
