// SPDX-License-Identifier: BSD-3-Clause
//
// State of a card's wire, in the card's memory (wire.h, verifier.h).
#pragma once

#include <cstdint>

namespace sluice::device::grid {

/// Length of the tag at the end of a frame.
inline constexpr uint32_t kTagBytes = 16;

/// Limits of a batch: the number of frames, and the number of 64-byte flits that they occupy.
inline constexpr uint32_t kBatchFrames = 2048;
inline constexpr uint32_t kBatchFlits = 4096;
inline constexpr uint32_t kFlitBytes = 64;
constexpr uint32_t Flits(uint32_t bytes) { return (bytes + kFlitBytes - 1) / kFlitBytes; }

/// Bits of a frame's number that contain its ring entry; limits the number of ring entries.
inline constexpr uint32_t kEntryBits = 20;

/// A frame in the ring.
struct alignas(16) RingFrame {
  /// Offset in the ring's data, in flits. The frame is padded with zeros up to the next frame's
  /// first flit.
  uint32_t flit;
  uint32_t length;
  uint32_t flow;
  uint32_t rank;  ///< Number of earlier frames of the same flow in the lap. Loopback: number of
                  ///< flits appended before this frame.
};

struct Sample;

/// The part of a wire's state that is constant while blocks run. Each block copies it to its shared
/// memory.
struct WireShape {
  RingFrame* frames = nullptr;
  uint8_t* data = nullptr;  ///< The bytes of the frames in the ring.
  uint32_t entries = 0;     ///< Frames in the ring; if tagged, at least twice as many as fit in the
                            ///< batches of all blocks together.
  uint32_t repeat_from = 0;   ///< Ring entry at which every lap except the first begins.
  uint32_t tagged = 1;        ///< 1: frames contain tags (verifier.h); 0: see samples.h.
  uint32_t per_lap = 0;       ///< Number of frames per flow in a lap.
  uint32_t nonce = 0;         ///< Nonce of all tags.
  uint32_t invariant = 0;     ///< Offset of the first byte that applications do not change.
  uint32_t largest = 0;       ///< Number of flits in the largest frame.
  uint32_t batch_frames = 0;  ///< 1 … kBatchFrames.
  uint32_t pause = 1;         ///< 1: frames wait for room instead of being dropped.
  uint32_t verify = 64;       ///< Every `verify`-th frame is compared, or copied to `samples`; 0:
                              ///< no frame is.
  uint32_t looped = 0;        ///< 1: the ring contains frames that the host sent (loopback.h).
  uint32_t batch_flits = kBatchFlits;  ///< Loopback: maximum number of flits in a batch of several
                                       ///< frames.
  Sample* samples = nullptr;           ///< kSamples slots in host memory; used only without tags.
  double per_ns = 0;                   ///< Frames per ns; 0: no limit.
  uint64_t limit = ~uint64_t{0};
  uint32_t* laps = nullptr;         ///< Per entry: the next lap that is expected to return.
  uint64_t* flow_orders = nullptr;  ///< Per flow: the number of the newest returned frame.
  uint64_t* sent_ns = nullptr;      ///< Per entry: the time of its last transmission (SentNs).
};

/// State that changes while blocks run. Frame counts start when the ring is uploaded.
struct Wire {
  WireShape shape;

  // Owned by the block whose turn it is to fetch a batch.
  alignas(64) uint64_t position = 0;  ///< Number of frames that have been fetched.
  uint32_t entry = 0;                 ///< position modulo the number of ring entries.
  uint32_t lap = 0;                   ///< position divided by the number of ring entries.
  uint64_t start_ns = 0;              ///< Time when the source was switched on; 0: off.
  uint64_t base = 0;                  ///< Position at start_ns, minus the frames that have been
                                      ///< given up since.
  uint32_t epoch = 0;

  alignas(64) uint64_t taken = 0;      ///< Number of batches that have been fetched.
  alignas(64) uint64_t reserved = 0;   ///< Number of tickets that have passed the reservation.
  alignas(64) uint64_t published = 0;  ///< Number of tickets that have passed the publication.

  // Owned by the block whose turn it is to reserve room. Written when a batch is put back.
  /// Incremented for each batch that is put back, after the other back_ members have been stored.
  alignas(64) uint32_t back_epoch = 0;
  uint32_t back_entry = 0;
  uint32_t back_lap = 0;
  uint64_t back_position = 0;

  // Shared by the blocks that send.
  alignas(64) uint64_t examined = 0;  ///< Returned frames, for the choice of samples.
  uint32_t sampled = 0;               ///< Slots of WireShape::samples that have been reserved.
  uint32_t samples_read = 0;          ///< Samples that the host has read.

  // Loopback (loopback.h). Frame numbers start when the ring is created.
  uint64_t loop_taken = 0;      ///< Tickets of appends.
  uint64_t loop_reserved = 0;   ///< Tickets that have passed the reservation.
  uint64_t loop_published = 0;  ///< Tickets that have passed the publication.
  uint64_t loop_end = 0;        ///< Frames for which entries have been reserved.
  uint32_t loop_flits = 0;      ///< Flits of these frames, modulo 2^32.
  uint64_t loop_tail = 0;       ///< Frames that have been published.
  uint64_t loop_head = 0;       ///< Frames that have been delivered or dropped.
};

}  // namespace sluice::device::grid
