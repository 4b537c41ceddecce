// SPDX-License-Identifier: BSD-3-Clause
//
// The state that a receive block of the packetized NIC keeps for its current batch, in shared
// memory.
#pragma once

#include <cstdint>

#include "device/grid/ipu_card.h"
#include "device/grid/ipu_sort.h"
#include "device/grid/ipu_spans.h"
#include "device/grid/wire.h"

namespace sluice::device::grid {

struct IpuReceiveMemory {
  WireShape shape;
  DmaCopy dma;
  Batch batch;
  uint32_t config;  ///< IpuCard::config at the time when `settings` was copied; 0 if not copied
                    ///< yet.
  uint32_t seen;    ///< IpuCard::config before the batch was fetched.
  uint32_t agrees;  ///< 1: the batch was not put back, and its settings are current.
  uint64_t left;    ///< kBatchFrames minus the arrival index of the first frame without room; 0 if
                    ///< there is room for all.
  IpuSettings settings;
  // Indexed by queue.
  uint32_t starts[kIpuQueues + 2];  ///< First sorted frame.
  uint32_t bases[kIpuQueues];       ///< First descriptor of this batch.
  uint32_t rooms[kIpuQueues];       ///< Number of posted descriptors, starting at bases[].
  uint32_t taken[kIpuQueues];       ///< Number of descriptors (or, for a link, frames) that this
                                    ///< batch uses.
  IpuSpans spans[kIpuQueues];       ///< Only for queues that have a link.
  // Indexed by arrival.
  uint32_t hashes[kBatchFrames];
  uint32_t words[kBatchFrames];    ///< Steered::word.
  uint32_t sources[kBatchFrames];  ///< RingFrame::flit.
  uint16_t lengths[kBatchFrames];
  alignas(16) uint8_t queues[kBatchFrames];  ///< A queue, kIpuDropped or kLeft; may include kFault.
  // Indexed by sorted frame.
  uint16_t arrivals[kBatchFrames];
  uint16_t needs[kBatchFrames + 1];  ///< Number of descriptors for the frames before this one.
  union {
    uint32_t counts[kSortCounts];
    uint32_t before[kBatchFrames];  ///< Number of flits of the frames before this one.
  };
  uint64_t buffers[kBatchFrames];  ///< Address of each descriptor's buffer; 0 if not mapped.
  uint16_t owners[kBatchFlits];    ///< Index of the sorted frame to which each flit belongs.
};

}  // namespace sluice::device::grid
