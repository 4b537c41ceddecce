// SPDX-License-Identifier: BSD-3-Clause
//
// What the streaming interface needs from the pipes of one worker, wherever their bytes come from.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "nic/frame_queue.h"
#include "packet/frame_length.h"

namespace sluice::nic {

/// Bytes that arrived on one pipe, contiguous, from the start of a frame.
struct Span {
  uint32_t pipe;  ///< Index among the pipes of one worker.
  uint8_t* data;
  uint32_t bytes;  ///< > 0, a multiple of 64; the NIC says that a frame ends here.
};

/// How the copy of a frame fared.
enum class SendResult : uint8_t {
  kSent,
  kFull,         ///< No room in time.
  kUnframeable,  ///< This NIC would cut the frame wrongly, and there is no other way out.
};

/// What a walk needs from the pipes whose bytes it walks.
template <typename P>
concept PipeSet = requires(P pipes, uint32_t pipe, const uint8_t* data, uint32_t bytes) {
  /// Longest frame that the NIC delivers; a longer claim is a lie.
  { P::kMaxFrameBytes } -> std::convertible_to<uint32_t>;
  /// Transmits a run in place and gives back the oldest `release_bytes` of the
  /// pipe, which end with the run. Gives back in any case; returns what could not
  /// be sent, of this run and of earlier copies.
  { pipes.Send(pipe, data, bytes, /*release_bytes=*/bytes) } -> std::same_as<FrameTotals>;
  /// Gives back the oldest `bytes` of the pipe unsent.
  {pipes.Release(pipe, bytes)};
  /// Accepts a copy of one frame for transmission, behind all earlier sends and
  /// before all later ones. What begins at spare() is there already.
  { pipes.SendCopy(data, /*length=*/bytes) } -> std::same_as<SendResult>;
  /// Where the next copy will lie, Frame::kSpareBytes, valid until the next call of another
  /// function; null where that is not known.
  { pipes.spare() } -> std::same_as<uint8_t*>;
  /// SendCopy of what begins at spare(), which is not null. False: SendCopy says why not.
  { pipes.SendBuilt(/*length=*/bytes) } -> std::same_as<bool>;
};

/// Frames in a run, as the transmitter cuts it.
inline FrameTotals CountFrames(const uint8_t* data, uint32_t bytes) {
  FrameTotals totals;
  for (uint32_t at = 0; at < bytes;) {
    const uint32_t length = packet::FrameLength(data + at);
    ++totals.pkts;
    totals.bytes += length;
    at += packet::FlitSpan(std::max(length, 1u));
  }
  return totals;
}

}  // namespace sluice::nic
