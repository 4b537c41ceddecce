// SPDX-License-Identifier: BSD-3-Clause
//
// Receive rings: life cycle, refill, and the scalar burst functions.
#include "net_ipu/ipu_rx.h"

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf_dyn.h>
#include <rte_memcpy.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "cpu/vector.h"
#include "dpdk/pool_flags.h"
#include "net_ipu/ipu_ring.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

/// Exceeds the number of segments of the longest frame. If a frame has more segments than this, the
/// device has lost the end of the frame.
constexpr uint32_t kMaxRxSegments = kMaxFrameBytes / kMinBuffer + 1;

/// Returns the distance from an mbuf to its posted buffer if it is the same for the whole pool and
/// addresses are virtual; otherwise 0.
uint64_t AddressOffset(rte_mempool* pool, Addresses addresses) {
  if (addresses == Addresses::kIova) return 0;
  const auto* const room = static_cast<const rte_pktmbuf_pool_private*>(rte_mempool_get_priv(pool));
  if (room->flags & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) return 0;
  return sizeof(rte_mbuf) + rte_pktmbuf_priv_size(pool) + RTE_PKTMBUF_HEADROOM;
}

/// Moves kBatch mbufs from the pool to `mbufs`. If this lcore's cache contains enough mbufs, copies
/// them in the cache's order, which rte_mempool_get_bulk would reverse. Returns false if the pool
/// has fewer mbufs.
bool AllocateBatch(rte_mempool* pool, rte_mbuf** mbufs) {
  rte_mempool_cache* const cache = rte_mempool_default_cache(pool, rte_lcore_id());
  if (cache == nullptr || cache->len < kBatch) [[unlikely]]
    return rte_mempool_get_bulk(pool, reinterpret_cast<void**>(mbufs), kBatch) == 0;
  cache->len -= kBatch;
  static_assert(kBatch * sizeof(*mbufs) == 256);
  rte_mov256(reinterpret_cast<uint8_t*>(mbufs),
             reinterpret_cast<const uint8_t*>(cache->objs + cache->len));
  RTE_MEMPOOL_CHECK_COOKIES(pool, reinterpret_cast<void**>(mbufs), kBatch, 1);
  return true;
}

/// Allocates kBatch mbufs from the pool into the mbuf ring and posts their buffers. Returns false
/// if the pool has fewer mbufs.
bool PostBatch(RxQueue& queue) {
  const uint32_t at = queue.tail & queue.mask;
  Descriptor* const ring = queue.ring + at;
  rte_mbuf** const mbufs = queue.mbufs + at;
  if (!AllocateBatch(queue.pool, mbufs)) return false;
  queue.tail += kBatch;
  const uint64_t offset = queue.address_offset;
  if (offset == 0) [[unlikely]] {
    for (uint32_t i = 0; i < kBatch; ++i) {
      ring[i] = {
          BufferBus(mbufs[i], queue.address_field) + RTE_PKTMBUF_HEADROOM - queue.stamp_bytes, 0};
    }
    return true;
  }
  // Handles two descriptors at a time. Each is an address and a zero word, which a single 16-byte
  // store writes.
  const cpu::Words offsets = cpu::FromLongs(offset, offset);
  const cpu::Words zero = {};
#pragma GCC unroll 4
  for (uint32_t i = 0; i < kBatch; i += 2) {
    const cpu::Words address = cpu::AddLongs(cpu::Load(mbufs + i), offsets);
    cpu::StoreAligned(ring + i, cpu::LowHalves(address, zero));
    cpu::StoreAligned(ring + i + 1, cpu::HighHalves(address, zero));
  }
  return true;
}

void Discard(RxQueue& queue, rte_mbuf* mbuf) {
  ++queue.bad_writeback;
  rte_mempool_put(queue.pool, mbuf);  // The mbuf never left the driver, so it is unmodified.
}

void DropPartial(RxQueue& queue) {
  if (queue.first_segment != nullptr) rte_pktmbuf_free(queue.first_segment);
  queue.first_segment = queue.last_segment = nullptr;
}

template <uint16_t (*kBurst)(void*, rte_mbuf**, uint16_t)>
uint16_t Stamped(void* opaque, rte_mbuf** packets, uint16_t count) {
  const RxQueue& queue = *static_cast<RxQueue*>(opaque);
  const uint16_t received = kBurst(opaque, packets, count);
  for (uint16_t i = 0; i < received; ++i) {
    const uint8_t* const frame = rte_pktmbuf_mtod(packets[i], const uint8_t*);
    auto* const field = RTE_MBUF_DYNFIELD(packets[i], queue.stamp_offset, rte_mbuf_timestamp_t*);
    std::memcpy(field, frame - regs::ipu::kStampBytes, regs::ipu::kStampBytes);
    packets[i]->ol_flags |= queue.stamp_flag;
  }
  return received;
}
static_assert(sizeof(rte_mbuf_timestamp_t) == regs::ipu::kStampBytes);

}  // namespace

RxQueue* RxCreate(bar::Bar registers, uint16_t port_id, uint16_t queue_id, uint32_t entries,
                  rte_mempool* pool, int socket, Addresses addresses) {
  auto* const queue = CreateQueue<RxQueue>("rx", port_id, queue_id, entries, socket, addresses);
  if (queue == nullptr) return nullptr;
  queue->registers = registers;
  queue->page = QueuePage(queue_id) + kRxBlock;
  queue->pool = pool;
  queue->room = std::min<uint32_t>(rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM,
                                   UINT16_MAX & ~63u);
  queue->address_offset = AddressOffset(pool, addresses);
  queue->flags = dpdk::FlagsOfPool(pool);
  rte_mbuf sample{};
  sample.data_off = RTE_PKTMBUF_HEADROOM;
  sample.nb_segs = 1;
  sample.port = port_id;
  rte_mbuf_refcnt_set(&sample, 1);
  std::memcpy(&queue->rearm, RearmField(&sample), sizeof(queue->rearm));
  Close(*queue);
  return queue;
}

void RxDestroy(RxQueue* queue) {
  if (queue == nullptr) return;
  RxStop(*queue);
  DestroyQueue(queue);
}

int RxStamp(RxQueue& queue) {
  if (rte_mbuf_dyn_rx_timestamp_register(&queue.stamp_offset, &queue.stamp_flag) != 0) {
    return -rte_errno;
  }
  queue.stamp_bytes = kStampBytes;
  if (queue.address_offset != 0) queue.address_offset -= kStampBytes;
  return 0;
}

int RxStart(RxQueue& queue, bool scatter) {
  queue.head = queue.tail = 0;
  ClearRing(queue);
  queue.registers.Write64(queue.page + kRingBase, RingBus(queue));
  queue.registers.Write32(queue.page + kRingEntries, queue.mask + 1);
  queue.registers.Write32(queue.page + kRingBuffer, queue.room);
  queue.registers.Write32(queue.page + kRingControl, kRingEnable | (scatter ? kRingScatter : 0) |
                                                         (queue.stamp_bytes != 0 ? kRingStamp : 0));
  queue.started = true;
  if (queue.registers.Read32(queue.page + kRingStatus) != 1) {
    RxStop(queue);
    return -EIO;
  }
  RxRefill(queue);
  if (queue.tail == 0) {
    RxStop(queue);
    return -ENOMEM;
  }
  return 0;
}

void RxStop(RxQueue& queue) {
  if (!queue.started) return;
  queue.registers.Write32(queue.page + kRingControl, 0);
  // The read is ordered after the store. When it returns, the device has released the ring.
  queue.registers.Read32(queue.page + kRingStatus);
  queue.stop_discards += RxPending(queue);
  DropPartial(queue);
  for (; queue.head != queue.tail; ++queue.head) {
    rte_mempool_put(queue.pool, queue.mbufs[queue.head & queue.mask]);
  }
  Close(queue);
  queue.started = false;
}

uint32_t RxPending(const RxQueue& queue) {
  uint32_t frames = 0;
  for (uint32_t i = queue.head; i != queue.tail; ++i) {
    const uint64_t high = LoadHigh(queue.ring[i & queue.mask]);
    if (!Done(high)) break;
    frames += (high & kRxEndOfPacket) != 0;
  }
  return frames;
}

void RxRefill(RxQueue& queue) {
  const uint32_t before = queue.tail;
  do {
    if (!PostBatch(queue)) [[unlikely]] {
      queue.no_mbuf += Consumed(queue) & ~(kBatch - 1);
      break;
    }
  } while (RxRefillDue(queue));
  if (queue.tail != before) queue.registers.Write32(queue.page + kRingTail, queue.tail);
}

uint16_t RxBurstScalar(void* opaque, rte_mbuf** packets, uint16_t count) {
  RxQueue& queue = *static_cast<RxQueue*>(opaque);
  uint16_t received = 0;
  while (received < count && queue.head != queue.tail) {
    const uint32_t at = queue.head & queue.mask;
    const uint64_t high = LoadHigh(queue.ring[at]);
    if (!Done(high)) break;
    rte_mbuf* const mbuf = queue.mbufs[at];
    ++queue.head;
    if (SegmentLength(queue, high) == 0 || (high & kRxEndOfPacket) == 0) [[unlikely]] {
      Discard(queue, mbuf);
      continue;
    }
    FillMbuf(queue, mbuf, bar::LoadOnce(queue.ring[at].low), high);
    queue.bytes += mbuf->data_len;
    packets[received++] = mbuf;
  }
  queue.packets += received;
  if (RxRefillDue(queue)) RxRefill(queue);
  return received;
}

uint16_t RxBurstScattered(void* opaque, rte_mbuf** packets, uint16_t count) {
  RxQueue& queue = *static_cast<RxQueue*>(opaque);
  uint16_t received = 0;
  while (received < count && queue.head != queue.tail) {
    const uint32_t at = queue.head & queue.mask;
    const uint64_t high = LoadHigh(queue.ring[at]);
    if (!Done(high)) break;
    rte_mbuf* const mbuf = queue.mbufs[at];
    ++queue.head;
    rte_mbuf* first = queue.first_segment;
    if (SegmentLength(queue, high) == 0 || (first != nullptr && first->nb_segs == kMaxRxSegments))
        [[unlikely]] {
      Discard(queue, mbuf);
      DropPartial(queue);
      continue;
    }
    FillMbuf(queue, mbuf, bar::LoadOnce(queue.ring[at].low), high);
    if (first == nullptr) {
      queue.first_segment = first = mbuf;
    } else {
      queue.last_segment->next = mbuf;
      first->pkt_len += mbuf->data_len;
      ++first->nb_segs;
    }
    queue.last_segment = mbuf;
    if ((high & kRxEndOfPacket) == 0) continue;
    queue.bytes += first->pkt_len;
    packets[received++] = first;
    queue.first_segment = queue.last_segment = nullptr;
  }
  queue.packets += received;
  if (RxRefillDue(queue)) RxRefill(queue);
  return received;
}

// Receive burst functions for queues with timestamps. They call the plain burst functions, then
// copy the time in front of each frame to DPDK's dynamic field.

uint16_t RxBurstScalarStamped(void* queue, rte_mbuf** packets, uint16_t count) {
  return Stamped<RxBurstScalar>(queue, packets, count);
}
uint16_t RxBurstVectorStamped(void* queue, rte_mbuf** packets, uint16_t count) {
  return Stamped<RxBurstVector>(queue, packets, count);
}
uint16_t RxBurstScatteredStamped(void* queue, rte_mbuf** packets, uint16_t count) {
  return Stamped<RxBurstScattered>(queue, packets, count);
}

}  // namespace sluice::net_ipu
