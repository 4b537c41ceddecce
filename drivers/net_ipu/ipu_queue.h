// SPDX-License-Identifier: BSD-3-Clause
//
// The two rings of a queue pair: state, life cycle and burst functions. Depends on registers and
// mbufs but not on ethdev; ipu_ethdev.cc connects them. Only one thread at a time may call the
// functions of a queue.
#pragma once

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bar/bar.h"
#include "regs/ipu.h"

namespace sluice::net_ipu {

/// Number of descriptors between two TX completion reports, and the unit of RX refills; a power of
/// two that divides every ring size.
inline constexpr uint32_t kBatch = 32;

/// The addresses that the device uses to access memory. A model maps the memory at the process's
/// addresses, and uses virtual addresses. A function on a bus uses IOVAs, which are stored in each
/// mbuf.
enum class Addresses : uint8_t { kVirtual, kIova };

/// Returns the offset of the mbuf field that contains the buffer's address.
inline size_t AddressField(Addresses addresses) {
#if RTE_IOVA_AS_PA || RTE_IOVA_IN_MBUF
  if (addresses == Addresses::kIova) return offsetof(rte_mbuf, buf_iova);
#endif
  return offsetof(rte_mbuf, buf_addr);
}
/// Returns the buffer's address for the device, read from that field.
inline uint64_t BufferBus(const rte_mbuf* mbuf, size_t field) {
  uint64_t address;
  std::memcpy(&address, reinterpret_cast<const uint8_t*>(mbuf) + field, sizeof(address));
  return address;
}

/// A receive queue. Indices are free-running and masked on use. Descriptors [head, tail) are posted
/// to the device, which completes them in order by write-back. The driver owns all others.
struct alignas(RTE_CACHE_LINE_SIZE) RxQueue {
  regs::ipu::Descriptor* ring;
  rte_mbuf** mbufs;  ///< Mbufs of posted descriptors, by masked index.
  uint32_t mask;
  uint32_t head;
  uint32_t tail;
  uint32_t room;   ///< Writable bytes at every posted address.
  uint64_t rearm;  ///< First 8 bytes of mbuf::rearm_data.
  uint64_t flags;  ///< ol_flags bits that all mbufs of the pool have.
  uint64_t
      address_offset;  ///< Posted address minus mbuf address; 0 if it must be read from the mbuf.
  rte_mempool* pool;
  uint64_t packets;  ///< Statistics; written by the queue's thread, read by other threads.
  uint64_t bytes;

  bar::Bar registers;
  uint32_t page;            ///< Offset of the queue's RX block.
  rte_mbuf* first_segment;  ///< Scattered frame in progress, or null.
  rte_mbuf* last_segment;
  uint64_t no_mbuf;        ///< Failed buffer allocations.
  uint64_t bad_writeback;  ///< Completions that are not valid for the posted buffer.
  uint64_t stop_discards;  ///< Received frames not fetched when the queue was stopped.

  const rte_memzone* zone;
  uint32_t address_field;  ///< Result of AddressField.
  Addresses addresses;
  uint16_t port_id;
  uint16_t queue_id;
  bool started;
  bool deferred_start;
  uint32_t stamp_bytes;  ///< regs::ipu::kStampBytes if frames are timestamped, else 0.
  int stamp_offset;      ///< Offset of the mbuf's dynamic timestamp field.
  uint64_t stamp_flag;   ///< ol_flags bit of that field.
  rte_mbuf none;         ///< Placeholder for mbufs while the queue is stopped.
};

/// A transmit queue. `cleaned` ≤ `tail` are free-running. The device may access the mbufs in
/// [cleaned, tail).
struct alignas(RTE_CACHE_LINE_SIZE) TxQueue {
  regs::ipu::Descriptor* ring;
  rte_mbuf** mbufs;  ///< One per descriptor, by masked index.
  uint32_t mask;
  uint32_t tail;
  uint32_t cleaned;
  uint32_t clean_from;     ///< Number of descriptors in use at which mbufs are reclaimed.
  uint32_t address_field;  ///< Result of AddressField.
  uint64_t packets;        ///< Written and read as in RxQueue.
  uint64_t bytes;
  bool fast_free;  ///< RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE: one pool, one reference, one segment.

  bar::Bar registers;
  uint32_t page;
  uint64_t bad_packet;     ///< Packets with too many segments or too long headers.
  uint64_t stop_discards;  ///< Posted frames not transmitted when the queue was stopped; included
                           ///< in `packets`.

  const rte_memzone* zone;
  Addresses addresses;
  uint64_t offloads;
  uint16_t port_id;
  uint16_t queue_id;
  bool started;
  bool deferred_start;
};

/// Creates a stopped queue of `entries` descriptors (a power of two, regs::ipu::kMinRing …
/// kMaxRing). Returns null if memory cannot be allocated.
RxQueue* RxCreate(bar::Bar registers, uint16_t port_id, uint16_t queue_id, uint32_t entries,
                  rte_mempool* pool, int socket, Addresses addresses = Addresses::kVirtual);
void RxDestroy(RxQueue* queue);
/// Enables timestamps in DPDK's dynamic field, starting with the next start of the queue. Returns 0
/// or a negative errno.
int RxStamp(RxQueue& queue);
/// Posts buffers and enables the ring. `scatter` allows frames to span buffers. Returns 0, -ENOMEM
/// (the pool has too few mbufs for one batch) or -EIO (the device rejects the ring or does not
/// respond).
int RxStart(RxQueue& queue, bool scatter);
/// Disables the ring and frees every buffer.
void RxStop(RxQueue& queue);
/// Returns the number of received frames that have not been fetched; stops counting at the first
/// gap.
uint32_t RxPending(const RxQueue& queue);

TxQueue* TxCreate(bar::Bar registers, uint16_t port_id, uint16_t queue_id, uint32_t entries,
                  uint32_t free_threshold, uint64_t offloads, int socket,
                  Addresses addresses = Addresses::kVirtual);
void TxDestroy(TxQueue* queue);
int TxStart(TxQueue& queue);
/// Waits, for a bounded time, until all posted frames have been transmitted, then disables the ring
/// and frees its mbufs.
void TxStop(TxQueue& queue);
/// Frees the mbufs of whole completed batches until this call has freed at least `limit`
/// descriptors (0: no limit) or no more batches are complete. Returns the number of freed
/// descriptors, which may exceed `limit`.
uint32_t TxClean(TxQueue& queue, uint32_t limit);

/// Burst functions with ethdev's signatures; `queue` is an RxQueue or a TxQueue. The scalar and the
/// vector function require unscattered frames and return the same results.
uint16_t RxBurstScalar(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstVector(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstScattered(void* queue, rte_mbuf** packets, uint16_t count);
/// Burst functions for queues with timestamps.
uint16_t RxBurstScalarStamped(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstVectorStamped(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstScatteredStamped(void* queue, rte_mbuf** packets, uint16_t count);
/// TxBurstSimple supports single-segment frames without offloads; TxBurstFull supports all
/// features.
uint16_t TxBurstSimple(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t TxBurstFull(void* queue, rte_mbuf** packets, uint16_t count);

/// Returns the number of descriptors that the driver has consumed but not posted again.
inline uint32_t Consumed(const RxQueue& queue) {
  return queue.mask + 1 - (queue.tail - queue.head);
}
inline bool RxRefillDue(const RxQueue& queue) { return Consumed(queue) >= kBatch; }
/// Posts new buffers for consumed descriptors, in whole batches, with one doorbell. Called if
/// RxRefillDue().
void RxRefill(RxQueue& queue);

}  // namespace sluice::net_ipu
