// SPDX-License-Identifier: BSD-3-Clause
//
// State of a cache-line endpoint (coherent/layout.h), which replaces the rings of a queue pair on a
// card. The register block opens and closes endpoints; one exchange block serves each of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coherent/frames.h"
#include "coherent/layout.h"
#include "coherent/table.h"
#include "device/grid/memory.h"

namespace sluice::device::grid {

/// One pair of control lines, as in coherent::NicEnd.
struct EndpointPair {
  uint64_t number;        ///< The pair's last load.
  uint64_t since_ns;      ///< Start time of the pending load.
  coherent::State state;  ///< State of the NIC's end.
  bool lent;              ///< Content was delivered and has not been returned.
};

/// The part of an endpoint's state that its block copies to shared memory. Contains only 32-bit
/// words, so that it can be copied word by word.
struct EndpointState {
  uint8_t* memory;  ///< The endpoint, in host memory.
  coherent::Geometry geometry;
  EndpointPair pairs[coherent::kPairs];  ///< Indexed by coherent::Pair.
  uint64_t asked_ns;                     ///< Time at which the host was asked to leave.
  uint32_t most;                         ///< Length of the longest received frame.
  uint32_t fill_bytes;                   ///< Payload bytes of a line that received frames may use.
  uint32_t written;                      ///< Payload bytes of the line that is delivered next.
  uint32_t count;                        ///< Frames in the `written` bytes.
  uint32_t full;                         ///< 1: a received frame did not fit into that line.
  uint32_t lent_bytes;   ///< Payload bytes of the delivered line, until the host returns it.
  uint32_t lent_frames;  ///< Frames in the `lent_bytes` bytes.

  EndpointPair& pair(coherent::Pair pair) { return pairs[static_cast<uint32_t>(pair)]; }
  const EndpointPair& pair(coherent::Pair pair) const { return pairs[static_cast<uint32_t>(pair)]; }
  /// Returns whether a load by the host is pending.
  bool Waits(coherent::Pair pair) const {
    return this->pair(pair).state == coherent::State::kLoading;
  }
  /// Returns whether the host has been asked to leave.
  bool Asked() const {
    const coherent::State state = pair(coherent::Pair::kReceive).state;
    return state == coherent::State::kAskedAway || state == coherent::State::kAskedLent ||
           state == coherent::State::kPreempted;
  }
  /// Returns the control line of load `number`.
  uint8_t* Line(coherent::Pair pair, uint64_t number) const {
    return memory + geometry.LineOffset(pair, number);
  }
  uint8_t* Words(coherent::Pair pair) const {
    return memory + offsetof(coherent::EndpointHeader, host) +
           static_cast<uint32_t>(pair) * sizeof(coherent::EndpointHeader::HostWord);
  }
  uint64_t* Ready() const {
    return reinterpret_cast<uint64_t*>(memory + offsetof(coherent::EndpointHeader, ready));
  }
};
inline constexpr uint32_t kEndpointWords = sizeof(EndpointState) / sizeof(uint32_t);

/// Maximum number of frames in a line.
inline constexpr uint32_t kLineFrames = coherent::Control::kMaxCount;
/// Offset of the payload in a line.
inline constexpr uint32_t kLinePayload = offsetof(coherent::ControlLine, payload);

/// An endpoint in the card's memory.
struct alignas(64) IpuEndpoint {
  // Values stored by the host.
  uint64_t base;
  uint64_t bytes;
  uint64_t opened_base, opened_bytes;  ///< The values of `base` and `bytes` when the endpoint was
                                       ///< opened.
  uint32_t epoch;                      ///< Number of times the endpoint has been opened.
  EndpointState state;
  /// Positions of the records that the card wrote to each line of the receive pair, in units of
  /// 8 bytes of the payload.
  uint16_t places[2][kLineFrames + 1];
};

/// Limits of a line, with its overflow lines.
inline constexpr uint32_t kLineBytesMost =
    (1 + coherent::Geometry::kMaxOverflowLines) * coherent::kLineBytes;

}  // namespace sluice::device::grid
