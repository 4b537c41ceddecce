// SPDX-License-Identifier: BSD-3-Clause
//
// The state of an endpoint block, in shared memory, and its copies of returned lines, in card
// memory.
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
/// Total bytes of the copies for all endpoints. They follow the memory of ipu_fifo.h.
inline constexpr size_t kEndpointCopiesBytes = kIpuQueues * sizeof(EndpointCopies);

/// Result of polling an endpoint.
struct EndpointLook {
  Quad words[coherent::kPairs];  ///< The host's words {load, busy}.
  IpuExchange kind;              ///< kEndpoint: the block has passed the gate.
  uint32_t epoch;                ///< IpuEndpoint::epoch.
  uint32_t head, tail;           ///< Received frames that are waiting on the card.
};

struct EndpointMemory {
  // Indexed by queue.
  EndpointLook looks[kIpuQueues];
  EndpointState states[kIpuQueues];
  uint32_t epochs[kIpuQueues];  ///< Epoch to which `states` belongs; 0 if none yet.
  uint64_t now_ns;              ///< Time of the poll in this turn.
  // The endpoint that this turn serves.
  EndpointTake takes[coherent::kPairs];
  uint32_t fault;   ///< 1: the host has violated the protocol.
  uint32_t faults;  ///< Queues whose hosts have violated the protocol in this turn, by bit.
  // Frames that are being written to a line.
  uint32_t starts[kLineFrames + 1];  ///< Position of each record, in units of 8 bytes, after the
                                     ///< first; then the end of the last one.
  uint32_t lengths[kLineFrames];
  // Records of a returned line.
  uint64_t records[kLineFrames];
  uint32_t places[kLineFrames];   ///< Position of each record, in bytes of the payload.
  uint32_t walked;                ///< Number of valid records.
  uint32_t before[kLineFrames];   ///< Frames in the records before this one.
  uint32_t sizes[kLineFrames];    ///< Length of each record's frame.
  uint32_t origins[kLineFrames];  ///< Position of each record's frame, in bytes of the payload.
  // Frames that the host is sending.
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
