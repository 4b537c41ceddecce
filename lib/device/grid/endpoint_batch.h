// SPDX-License-Identifier: BSD-3-Clause
//
// An endpoint block's state, in shared memory, and copies of returned lines on the card.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/grid/endpoint_end.h"
#include "device/grid/endpoint_state.h"
#include "device/grid/ipu_fifo.h"
#include "device/grid/ipu_sent.h"
#include "device/grid/wire_state.h"

namespace sluice::device::grid {

/// Maximum number of frames that the host returns in one line of each pair.
inline constexpr uint32_t kEndpointFrames = coherent::kPairs * kLineFrames;
static_assert(kEndpointFrames <= kIpuSendWindow);

/// Copies of an endpoint's returned lines, in the card's memory.
struct EndpointCopies {
  alignas(kFlitBytes) uint8_t lines[coherent::kPairs][kLineBytesMost];
};
inline EndpointCopies& EndpointCopiesOf(const IpuCard& card, uint32_t queue) {
  return reinterpret_cast<EndpointCopies*>(card.staging + kIpuCardMemoryBytes)[queue];
}
/// Bytes of the copies of all endpoints. They follow the memory of ipu_fifo.h.
inline constexpr size_t kEndpointCopiesBytes = kIpuQueues * sizeof(EndpointCopies);

/// Result of a poll of an endpoint.
struct EndpointLook {
  Quad words[coherent::kPairs];  ///< The host's words {load, busy}.
  IpuExchange kind;              ///< kEndpoint: the gate was passed.
  uint32_t epoch;                ///< IpuEndpoint::epoch.
  uint32_t head, tail;           ///< Received frames that wait in the card.
};

struct EndpointMemory {
  // Indexed by queue.
  EndpointLook looks[kIpuQueues];
  EndpointState states[kIpuQueues];
  uint32_t epochs[kIpuQueues];  ///< Epoch to which `states` belongs; 0: none yet.
  uint64_t now_ns;              ///< Time of this turn's poll.
  // The endpoint of this turn.
  EndpointTake takes[coherent::kPairs];
  uint32_t fault;   ///< 1: the host has violated the protocol.
  uint32_t faults;  ///< Queues whose hosts have violated the protocol in this turn, by bit.
  // Frames that are written to a line.
  uint32_t starts[kLineFrames + 1];  ///< Position of each record after the first one, in units of
                                     ///< 8 bytes; then the end of the last one.
  uint32_t lengths[kLineFrames];
  // Records of a returned line.
  uint64_t records[kLineFrames];
  uint32_t places[kLineFrames];   ///< Position of each record, in bytes of the payload.
  uint32_t walked;                ///< Number of valid records.
  uint32_t before[kLineFrames];   ///< Frames in the records before this one.
  uint32_t sizes[kLineFrames];    ///< Length of a record's frame.
  uint32_t origins[kLineFrames];  ///< Its position, in bytes of the payload.
  // Frames that the host sends.
  uint32_t frames;
  uint32_t bytes[kEndpointFrames];
  const uint8_t* sources[kEndpointFrames];
};

/// Returns the index of the last of `count` ascending values that is at most `value`. The first
/// value must be at most `value`.
inline uint32_t LastUpTo(const uint32_t* values, uint32_t count, uint32_t value) {
  uint32_t first = 0;
  while (count > 1) {
    const uint32_t half = count / 2;
    if (values[first + half] <= value) first += half;
    count -= half;
  }
  return first;
}

}  // namespace sluice::device::grid
