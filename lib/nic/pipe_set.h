// SPDX-License-Identifier: BSD-3-Clause
//
// The contract between the streaming interface and a worker's pipes, whatever the source of the
// bytes.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "nic/frame_queue.h"
#include "packet/frame_length.h"

namespace sluice::nic {

/// Contiguous bytes that arrived on one pipe. The first byte is the start of a frame.
struct Span {
  uint32_t pipe;  ///< Index among the pipes of one worker.
  uint8_t* data;
  /// A positive multiple of 64. According to the NIC, a frame ends in the last flit.
  uint32_t bytes;
};

/// Result of sending a copy of a frame.
enum class SendResult : uint8_t {
  kSent,
  kFull,         ///< No room became free in time.
  kUnframeable,  ///< The frame is too long, or the NIC would derive a wrong length from its header,
                 ///< and there is no exception port.
};

/// Operations that the streaming interface performs on the pipes of one worker.
template <typename P>
concept PipeSet = requires(P pipes, uint32_t pipe, const uint8_t* data, uint32_t bytes) {
  /// Longest frame that the NIC delivers. A header that gives a longer length is invalid.
  { P::kMaxFrameBytes } -> std::convertible_to<uint32_t>;
  /// Transmits a run in place. Gives back the oldest `release_bytes` of the pipe, which end with
  /// the run, even if the run is not sent. Returns the totals of frames that could not be sent,
  /// from this run and from earlier copies.
  { pipes.Send(pipe, data, bytes, /*release_bytes=*/bytes) } -> std::same_as<FrameTotals>;
  /// Gives back the oldest `bytes` of the pipe without sending them.
  {pipes.Release(pipe, bytes)};
  /// Accepts a copy of one frame for transmission, after all earlier sends and before all later
  /// ones. If the frame is at spare(), it is already in place and is not copied.
  { pipes.SendCopy(data, /*length=*/bytes) } -> std::same_as<SendResult>;
  /// Returns the address for the next copy, with room for Frame::kSpareBytes, or null if the
  /// address is unknown. Valid until the next call of another function.
  { pipes.spare() } -> std::same_as<uint8_t*>;
  /// Sends the frame built at spare() as SendCopy would. spare() must not be null. Returns false if
  /// the frame cannot be sent; SendCopy then returns the reason.
  { pipes.SendBuilt(/*length=*/bytes) } -> std::same_as<bool>;
};

/// Counts the frames in a run, split as the transmitter splits it: by the lengths in the headers.
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
