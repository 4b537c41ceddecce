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
constexpr uint32_t Flits(uint32_t bytes) { return (bytes + kFlitBytes - 1) / kFlitBytes; }

/// Bits of a frame's number that contain its ring entry; limits the entries of a ring.
inline constexpr uint32_t kEntryBits = 20;

/// A frame of the ring.
struct alignas(16) RingFrame {
  /// Offset in the ring's data, in flits. The frame is padded with zeros to the next frame's flit.
  uint32_t flit;
  uint32_t length;
  uint32_t flow;
  uint32_t rank;  ///< Number of earlier frames of the same flow in a lap. Loopback: number of flits
                  ///< that were appended before this frame.
};

struct Sample;

/// The part of a wire's state that is constant while blocks run. Each block copies it to its shared
/// memory.
struct WireShape {
  RingFrame* frames = nullptr;
  uint8_t* data = nullptr;  ///< The bytes of the ring's frames.
  uint32_t entries = 0;     ///< Frames in the ring; if tagged, at least twice as many as fit in the
                            ///< batches of all blocks together.
  uint32_t repeat_from = 0;   ///< First ring entry of all laps except the first.
  uint32_t tagged = 1;        ///< 1: frames contain tags (verifier.h); 0: see samples.h.
  uint32_t per_lap = 0;       ///< Frames of each flow in a lap.
  uint32_t nonce = 0;         ///< Nonce in all tags.
  uint32_t invariant = 0;     ///< Offset of the first byte that applications do not change.
  uint32_t largest = 0;       ///< Flits of the largest frame.
  uint32_t batch_frames = 0;  ///< 1 … kBatchFrames.
  uint32_t pause = 1;         ///< 1: frames wait for room instead of being dropped.
  uint32_t verify = 64;       ///< Compares every `verify`-th frame, or copies it to `samples`;
                              ///< 0: checks no frame.
  uint32_t looped = 0;        ///< 1: the ring contains frames that the host sent (loopback.h).
  uint32_t batch_flits = kBatchFlits;  ///< Loopback: maximum flits of a batch of several frames.
  Sample* samples = nullptr;           ///< kSamples slots in host memory; only without tags.
  double per_ns = 0;                   ///< Frames per ns; 0: without a limit.
  uint64_t limit = ~uint64_t{0};
  uint32_t* laps = nullptr;         ///< Per entry: next lap that is expected to return.
  uint64_t* flow_orders = nullptr;  ///< Per flow: number of the newest returned frame.
  uint64_t* sent_ns = nullptr;      ///< Per entry: time of the last transmission (SentNs).
};

/// State that changes while blocks run. Counts of frames start at the upload of the ring.
struct Wire {
  WireShape shape;

  // Owned by the block whose turn it is to fetch a batch.
  alignas(64) uint64_t position = 0;  ///< Frames that were fetched.
  uint32_t entry = 0;                 ///< position modulo the number of ring entries.
  uint32_t lap = 0;                   ///< position divided by the number of ring entries.
  uint64_t start_ns = 0;              ///< Time when the source was switched on; 0: off.
  uint64_t base = 0;                  ///< Position at start_ns, minus the frames given up since.
  uint32_t epoch = 0;

  alignas(64) uint64_t taken = 0;      ///< Number of batches that were fetched.
  alignas(64) uint64_t reserved = 0;   ///< Number of tickets that have passed the reservation.
  alignas(64) uint64_t published = 0;  ///< Number of tickets that have passed the publication.

  // Owned by the block whose turn it is to reserve room; written when a batch is put back.
  /// Incremented for each batch put back, after the other back_ members.
  alignas(64) uint32_t back_epoch = 0;
  uint32_t back_entry = 0;
  uint32_t back_lap = 0;
  uint64_t back_position = 0;

  // Shared by the blocks that send.
  alignas(64) uint64_t examined = 0;  ///< Returned frames, for the choice of samples.
  uint32_t sampled = 0;               ///< Slots of WireShape::samples that were reserved.
  uint32_t samples_read = 0;          ///< Samples that the host has read.

  // Loopback (loopback.h). Numbers of frames start at the creation of the ring.
  uint64_t loop_taken = 0;      ///< Tickets of appends.
  uint64_t loop_reserved = 0;   ///< Tickets that have passed the reservation.
  uint64_t loop_published = 0;  ///< Tickets that have passed the publication.
  uint64_t loop_end = 0;        ///< Frames for which entries were reserved.
  uint32_t loop_flits = 0;      ///< Flits of these frames, modulo 2^32.
  uint64_t loop_tail = 0;       ///< Frames that were published.
  uint64_t loop_head = 0;       ///< Frames that were delivered or dropped.
};

}  // namespace sluice::device::grid
