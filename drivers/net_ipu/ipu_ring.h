// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for RX and TX rings: the descriptors, in a memzone that the device reads and writes, and
// the mbuf pointers, which, like the queue's state, are in memory from rte_zmalloc.
#pragma once

#include <rte_malloc.h>
#include <rte_memzone.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "net_ipu/ipu_queue.h"

namespace sluice::net_ipu {

/// Creates a zeroed queue, and sets its ring, mbufs, mask, zone, IDs and addresses. Returns null if
/// memory cannot be allocated.
template <typename Queue>
Queue* CreateQueue(const char* direction, uint16_t port_id, uint16_t queue_id, uint32_t entries,
                   int socket, Addresses addresses) {
  auto* const queue = static_cast<Queue*>(
      rte_zmalloc_socket("net_ipu", sizeof(Queue), RTE_CACHE_LINE_SIZE, socket));
  if (queue == nullptr) return nullptr;
  new (queue) Queue();
  char name[RTE_MEMZONE_NAMESIZE];
  std::snprintf(name, sizeof(name), "net_ipu_%s_%u_%u", direction, port_id, queue_id);
  queue->zone = rte_memzone_reserve_aligned(name, entries * sizeof(regs::ipu::Descriptor), socket,
                                            RTE_MEMZONE_IOVA_CONTIG, RTE_CACHE_LINE_SIZE);
  queue->mbufs = static_cast<rte_mbuf**>(
      rte_zmalloc_socket("net_ipu", entries * sizeof(rte_mbuf*), RTE_CACHE_LINE_SIZE, socket));
  if (queue->zone == nullptr || queue->mbufs == nullptr) {
    rte_memzone_free(queue->zone);
    rte_free(queue->mbufs);
    rte_free(queue);
    return nullptr;
  }
  queue->ring = static_cast<regs::ipu::Descriptor*>(queue->zone->addr);
  queue->mask = entries - 1;
  queue->port_id = port_id;
  queue->queue_id = queue_id;
  queue->addresses = addresses;
  queue->address_field = static_cast<uint32_t>(AddressField(addresses));
  return queue;
}

template <typename Queue>
void DestroyQueue(Queue* queue) {
  rte_memzone_free(queue->zone);
  rte_free(queue->mbufs);
  rte_free(queue);
}

template <typename Queue>
void ClearRing(Queue& queue) {
  std::memset(static_cast<void*>(queue.ring), 0, (queue.mask + 1) * sizeof(regs::ipu::Descriptor));
}

/// Makes the burst functions return 0 for a stopped queue: no descriptor is free and none is
/// complete. The vector version writes to a group's mbufs before it counts the complete ones, so it
/// needs valid mbufs.
inline void Close(RxQueue& queue) {
  ClearRing(queue);
  std::fill_n(queue.mbufs, kBatch, &queue.none);
  queue.head = 0;
  queue.tail = queue.mask + 1;
}
inline void Close(TxQueue& queue) {
  ClearRing(queue);
  queue.cleaned = 0;
  queue.tail = queue.mask + 1;
}

/// Returns the ring's address for the device: an IOVA or a virtual address. The memzone is
/// contiguous in both address spaces.
template <typename Queue>
uint64_t RingBus(const Queue& queue) {
  return queue.addresses == Addresses::kIova ? queue.zone->iova
                                             : reinterpret_cast<uint64_t>(queue.ring);
}

}  // namespace sluice::net_ipu
