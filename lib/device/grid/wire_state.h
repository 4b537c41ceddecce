// SPDX-License-Identifier: BSD-3-Clause
//
// What the wire of a card keeps in the card's memory (wire.h, verifier.h).
#pragma once

#include <cstdint>

namespace sluice::device::grid {

/// Bytes of a frame's tag, at its end.
inline constexpr uint32_t kTagBytes = 16;

/// Frames that a block takes at once at most, and the units of 64 bytes that they may occupy.
inline constexpr uint32_t kBatchFrames = 1024;
inline constexpr uint32_t kBatchFlits = 4096;
inline constexpr uint32_t kFlitBytes = 64;

/// A frame of the ring.
struct RingFrame {
  uint8_t* data;  ///< 64-byte aligned; zeroes up to the next multiple of 64.
  uint32_t length;
  uint32_t flow;
  uint32_t rank;  ///< Frames of the same flow before it in a lap.
  uint32_t reserved;
};

/// All counts of frames are since the ring was uploaded.
struct Wire {
  RingFrame* frames = nullptr;
  uint32_t entries = 0;  ///< At least twice what all receive blocks take at once.
  uint32_t per_lap = 0;  ///< Frames of each flow in a lap.
  uint32_t nonce = 0;
  uint32_t invariant = 0;     ///< First byte that no application changes.
  uint32_t largest = 0;       ///< Flits of the largest frame.
  uint32_t batch_frames = 0;  ///< 1 … kBatchFrames.
  uint32_t pause = 1;         ///< Frames wait for room, and are not dropped.
  uint32_t verify = 64;       ///< One frame in so many is compared; 0: none is looked at.
  double per_ns = 0;          ///< Rate; 0: as fast as they are taken.
  uint64_t limit = ~uint64_t{0};

  // Of the source, under `lock`.
  uint32_t lock = 0;
  uint32_t epoch = 0;     ///< Grows when a batch is put back.
  uint64_t tickets = 0;   ///< Batches that were taken.
  uint64_t position = 0;  ///< Frames that were taken.
  uint64_t start_ns = 0;  ///< When the source was switched on; 0: it is off.
  uint64_t base = 0;      ///< Position at that time, and what was given up since.

  uint64_t reserved = 0;   ///< Tickets that have passed the first point.
  uint64_t published = 0;  ///< Tickets that have passed the second one.

  // Of the verifier.
  uint32_t* laps = nullptr;         ///< Of each entry: the lap that is expected back next.
  uint64_t* flow_orders = nullptr;  ///< Of each flow: the last that came back, see Verifier.
  uint64_t* sent_ns = nullptr;      ///< Of each entry: when it was last sent.
};

}  // namespace sluice::device::grid
