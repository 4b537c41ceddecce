// SPDX-License-Identifier: BSD-3-Clause
//
// What a receive block of the packetized NIC knows of the batch that it works on; in shared memory.
#pragma once

#include <cstdint>

#include "device/grid/ipu_card.h"
#include "device/grid/ipu_sort.h"
#include "device/grid/wire.h"

namespace sluice::device::grid {

struct IpuReceiveMemory {
  WireShape shape;
  Batch batch;
  uint32_t config;  ///< Of `settings`; 0: none yet.
  uint32_t seen;    ///< IpuCard::config before the batch was taken.
  uint32_t agrees;  ///< The batch was not put back, nor steered by old settings.
  uint64_t left;    ///< kBatchFrames less the first frame, by arrival, that finds no room; or 0.
  IpuSettings settings;
  // Of each queue.
  uint32_t starts[kIpuQueues + 2];  ///< Its first sorted frame.
  uint32_t bases[kIpuQueues];       ///< Its first descriptor of this batch.
  uint32_t rooms[kIpuQueues];       ///< Descriptors that are posted from there on.
  uint32_t taken[kIpuQueues];       ///< Descriptors of this batch.
  // Of each frame, by arrival.
  uint32_t hashes[kBatchFrames];
  uint32_t words[kBatchFrames];    ///< Steered::word.
  uint32_t sources[kBatchFrames];  ///< RingFrame::flit.
  uint16_t lengths[kBatchFrames];
  alignas(16) uint8_t queues[kBatchFrames];  ///< Queue, kIpuDropped or kLeft; and kFault.
  // Of the sorted frames.
  uint16_t arrivals[kBatchFrames];
  uint16_t needs[kBatchFrames + 1];  ///< Descriptors of those before it.
  union {
    uint32_t counts[kSortCounts];
    uint32_t before[kBatchFrames];  ///< Flits of those before it.
  };
  uint64_t buffers[kBatchFrames];  ///< Of each descriptor of the batch; 0: not mapped.
  uint16_t owners[kBatchFlits];    ///< Of each flit of the sorted batch: its frame.
};

}  // namespace sluice::device::grid
