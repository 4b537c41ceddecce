// SPDX-License-Identifier: BSD-3-Clause
//
// Returned frames without a tag, for example the answers to a client's requests. The card adds up
// the hashes of all these frames and copies some of the frames to a ring of slots in host memory,
// where the process checks them (emulator/recording.h). If no slot is free, the card does not wait:
// it copies fewer frames.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/grid/verifier.h"

namespace sluice::device::grid {

/// A slot of the ring, in host memory.
struct alignas(64) Sample {
  /// Length of the longest frame that is copied.
  static constexpr uint32_t kMaxBytes = 1984;

  uint64_t number;  ///< 1 + the sample's number; stored last, together with `length`.
  uint64_t length;
  uint8_t unused[48];
  uint8_t data[kMaxBytes];
};
static_assert(sizeof(Sample) == 2048 && offsetof(Sample, length) == sizeof(uint64_t));
/// Number of slots.
inline constexpr uint32_t kSamples = 1024;

/// Mixes the bits of a word (Moremur, Evensen 2020). A bijection.
constexpr uint64_t MixBits(uint64_t word) {
  word = (word ^ word >> 27) * 0x3c79ac492ba7b653u;
  word = (word ^ word >> 33) * 0x1c69b3f74ac4ae35u;
  return word ^ word >> 27;
}

/// Returns 16 bytes of a frame. Bytes beyond its end are zeros.
inline Quad PartOf(const Returned& frame, uint32_t at) {
  if (at >= frame.length) return {0, 0};
  return Truncate(LoadPlain(frame.data + at), frame.length - at);
}

/// Returns the hash of flit `number` of a frame. The hash h starts as the flit's number; then h =
/// MixBits(h ^ w) + w for each of the flit's eight little-endian words w, in order.
inline uint64_t HashFlit(const Returned& frame, uint32_t number) {
  uint64_t hash = number;
  for (uint32_t part = 0; part < kFlitBytes; part += sizeof(Quad)) {
    const Quad quad = PartOf(frame, number * kFlitBytes + part);
    hash = MixBits(hash ^ quad.low) + quad.low;
    hash = MixBits(hash ^ quad.high) + quad.high;
  }
  return hash;
}
/// Combines the hashes of a frame's flits. `low` and `high` are the sums of the lower and upper
/// halves of the flits' hashes, modulo 2^32. As sums, they do not depend on which thread adds which
/// flit.
constexpr uint64_t HashFrame(uint32_t length, uint32_t low, uint32_t high) {
  return MixBits((uint64_t{high} << 32 | low) ^ uint64_t{length} << 40);
}

/// Returns the sum of the hashes of `count` frames. frame_of(i) returns the i-th frame; its data
/// must be aligned to a flit, and a length of 0 means no frame. `low` and `high` are scratch space
/// for `count` words each. Called by all threads.
template <typename FrameOf>
uint64_t HashFrames(const WireShape& shape, const Team& team, uint32_t count, uint32_t* low,
                    uint32_t* high, FrameOf frame_of) {
  team.ForEach(count, [&](uint32_t i) { low[i] = high[i] = 0; });
  // Frames may be longer than those that were sent; if so, each thread hashes several flits.
  const uint32_t stride = shape.largest;
  team.ForEach(count * stride, [&](uint32_t i) {
    const Returned frame = frame_of(i / stride);
    uint64_t sum_low = 0, sum_high = 0;
    uint32_t flit = i % stride;
    if (flit * kFlitBytes >= frame.length) return;
    for (; flit * kFlitBytes < frame.length; flit += stride) {
      const uint64_t hash = HashFlit(frame, flit);
      sum_low += hash & ~0u;
      sum_high += hash >> 32;
    }
    Add(&low[i / stride], static_cast<uint32_t>(sum_low));
    Add(&high[i / stride], static_cast<uint32_t>(sum_high));
  });
  return team.Sum(count, [&](uint32_t i) -> uint64_t {
    const uint32_t length = frame_of(i).length;
    return length == 0 ? 0 : HashFrame(length, low[i], high[i]);
  });
}

/// Reserves up to `wanted` slots. The lower half of the result is the number of the first sample,
/// and the upper half is the number of reserved slots. Called by one thread.
inline uint64_t ReserveSamples(Wire& wire, uint32_t wanted) {
  for (;;) {
    const uint32_t first = Load(&wire.sampled);
    const uint32_t room = kSamples - (first - Load(&wire.samples_read));
    const uint32_t count = wanted < room ? wanted : room;
    if (count == 0) return first;
    if (CompareExchange(&wire.sampled, first, first + count) == first) {
      return first | uint64_t{count} << 32;
    }
  }
}

/// Copies every shape.verify-th returned frame to the ring. `before` is the number of frames that
/// returned before these. Called by all threads; shape.verify must not be 0.
template <typename FrameOf>
void SampleFrames(Wire& wire, const WireShape& shape, const Team& team, uint64_t before,
                  uint32_t count, FrameOf frame_of) {
  const auto phase = static_cast<uint32_t>(before % shape.verify);
  const uint32_t wanted = (phase + count) / shape.verify;
  if (wanted == 0) return;
  const uint64_t reserved = team.Agree([&] { return ReserveSamples(wire, wanted); });
  const auto first = static_cast<uint32_t>(reserved), slots = static_cast<uint32_t>(reserved >> 32);
  if (slots == 0) return;
  const auto frame_at = [&](uint32_t i) {
    const Returned frame = frame_of((i + 1) * shape.verify - 1 - phase);
    return frame.length <= Sample::kMaxBytes ? frame : Returned{frame.data, 0};
  };
  const auto slot = [&](uint32_t i) { return &shape.samples[(first + i) % kSamples]; };
  constexpr uint32_t kQuads = Sample::kMaxBytes / sizeof(Quad);
  team.ForEach(slots * kQuads, [&](uint32_t i) {
    const auto at = static_cast<uint32_t>(i % kQuads * sizeof(Quad));
    const Returned frame = frame_at(i / kQuads);
    if (at < frame.length) StoreQuad(slot(i / kQuads)->data + at, LoadPlain(frame.data + at));
  });
  team.ForEach(kTeamThreads, [&](uint32_t) { FenceSystem(); });
  team.ForEach(slots, [&](uint32_t i) {
    PublishQuad(slot(i), {uint64_t{first + i} + 1, frame_at(i).length});
  });
}

/// Hashes returned frames without tags, and copies some of them. The arguments are those of
/// HashFrames. Called by all threads.
template <typename FrameOf>
void RecordFrames(Card& card, const WireShape& shape, const Team& team, uint32_t count,
                  uint32_t* low, uint32_t* high, FrameOf frame_of) {
  const uint64_t before = team.Agree([&] { return Add(&card.wire.examined, uint64_t{count}); });
  const uint64_t hash = HashFrames(shape, team, count, low, high, frame_of);
  team.Lead([&] { Add(&card.counters[WireEvent::kHash], hash); });
  if (shape.verify != 0) SampleFrames(card.wire, shape, team, before, count, frame_of);
}

}  // namespace sluice::device::grid
