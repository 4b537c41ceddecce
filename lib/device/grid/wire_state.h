// SPDX-License-Identifier: BSD-3-Clause
//
// State of a card's wire, in the card's memory (wire.h, verifier.h).
#pragma once

#include <cstdint>

namespace sluice::device::grid {

/// Length of the tag at the end of a frame.
inline constexpr uint32_t kTagBytes = 16;

/// Limits of a batch: frames, and the flits of 64 bytes that they occupy.
inline constexpr uint32_t kBatchFrames = 2048;
inline constexpr uint32_t kBatchFlits = 4096;
inline constexpr uint32_t kFlitBytes = 64;

/// Width of an entry's index in a frame's number; limits the entries of a ring.
inline constexpr uint32_t kEntryBits = 20;

/// A frame of the ring.
struct RingFrame {
  uint32_t flit;  ///< Where it lies in the ring's bytes; zeroes up to the next one's flit.
  uint32_t length;
  uint32_t flow;
  uint32_t rank;  ///< Frames of the same flow before it in a lap.
};

/// The part of a wire that does not change while blocks run. Each block copies it to its shared
/// memory.
struct WireShape {
  const RingFrame* frames = nullptr;
  uint8_t* data = nullptr;    ///< The bytes of the ring's frames.
  uint32_t entries = 0;       ///< At least twice what all receive blocks take at once.
  uint32_t per_lap = 0;       ///< Frames of each flow in a lap.
  uint32_t nonce = 0;         ///< Of the tags.
  uint32_t invariant = 0;     ///< First byte that no application changes.
  uint32_t largest = 0;       ///< Flits of the largest frame.
  uint32_t batch_frames = 0;  ///< 1 … kBatchFrames.
  uint32_t pause = 1;         ///< Frames wait for room, and are not dropped.
  uint32_t verify = 64;       ///< Every `verify`-th frame is compared; 0: no frame is checked.
  double per_ns = 0;          ///< Frames per ns; 0: as fast as batches are taken.
  uint64_t limit = ~uint64_t{0};
  uint32_t* laps = nullptr;         ///< Of each entry: the lap that is expected back next.
  uint64_t* flow_orders = nullptr;  ///< Of each flow: the number of the last that came back.
  uint64_t* sent_ns = nullptr;      ///< Of each entry: when it was last sent.
};

/// State that changes while blocks run. Counts of frames begin when the ring is uploaded.
struct Wire {
  WireShape shape;

  // Of the block whose turn it is to take a batch.
  alignas(64) uint64_t position = 0;  ///< Frames that were taken.
  uint32_t entry = 0;                 ///< position modulo the entries of the ring, and
  uint32_t lap = 0;                   ///< divided by them.
  uint64_t start_ns = 0;              ///< When the source was switched on; 0: it is off.
  uint64_t base = 0;                  ///< Position at that time, less what was given up since.
  uint32_t epoch = 0;

  alignas(64) uint64_t taken = 0;      ///< Tickets of batches that were taken.
  alignas(64) uint64_t reserved = 0;   ///< Tickets that have passed the first point.
  alignas(64) uint64_t published = 0;  ///< Tickets that have passed the second one.

  // Of the block whose turn it is at the first point: a batch was put back.
  alignas(64) uint32_t back_epoch = 0;  ///< Grows; stored after the others.
  uint32_t back_entry = 0;
  uint32_t back_lap = 0;
  uint64_t back_position = 0;
};

}  // namespace sluice::device::grid
