// SPDX-License-Identifier: BSD-3-Clause
//
// The two rings of a queue pair as the driver sees them: state, life cycle and
// burst functions. Knows registers and mbufs, not ethdev; ipu_ethdev.cc connects
// the two. All functions of one queue are called by one thread at a time.
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

/// Descriptors between two TX completion reports, and the unit in which RX is
/// refilled: a power of two that divides every ring.
inline constexpr uint32_t kBatch = 32;

/// By what the device finds memory: a model, which has it mapped where this process has, by virtual
/// addresses; a function on a bus by what EAL maps, of which mbufs know each their own.
enum class Addresses : uint8_t { kVirtual, kIova };

/// Where an mbuf keeps the address of its buffer.
inline size_t AddressField(Addresses addresses) {
#if RTE_IOVA_AS_PA || RTE_IOVA_IN_MBUF
  if (addresses == Addresses::kIova) return offsetof(rte_mbuf, buf_iova);
#endif
  return offsetof(rte_mbuf, buf_addr);
}
/// The device's address of the buffer, by that field.
inline uint64_t BufferBus(const rte_mbuf* mbuf, size_t field) {
  uint64_t address;
  std::memcpy(&address, reinterpret_cast<const uint8_t*>(mbuf) + field, sizeof(address));
  return address;
}

/// Indices are free-running and masked on use. The driver owns [0, head) and
/// posts [head, tail) to the device, which completes it in order by write-back.
struct alignas(RTE_CACHE_LINE_SIZE) RxQueue {
  regs::ipu::Descriptor* ring;
  rte_mbuf** mbufs;  ///< Of the posted descriptors, by masked index.
  uint32_t mask;
  uint32_t head;
  uint32_t tail;
  uint32_t room;            ///< Bytes behind every posted address.
  uint64_t rearm;           ///< First 8 bytes of mbuf::rearm_data.
  uint64_t flags;           ///< In ol_flags of all mbufs of the pool.
  uint64_t address_offset;  ///< From an mbuf to the address posted for it; 0: read it there.
  rte_mempool* pool;
  uint64_t packets;  ///< Statistics: this queue's thread writes, others read.
  uint64_t bytes;

  bar::Bar registers;
  uint32_t page;            ///< Of the queue's RX block.
  rte_mbuf* first_segment;  ///< Scattered frame in progress, or null.
  rte_mbuf* last_segment;
  uint64_t no_mbuf;        ///< Buffers that the pool could not give.
  uint64_t bad_writeback;  ///< Completions that the posted buffer cannot explain.
  uint64_t stop_discards;  ///< Frames received and not fetched when the queue stopped.

  const rte_memzone* zone;
  uint32_t address_field;  ///< AddressField.
  Addresses addresses;
  uint16_t port_id;
  uint16_t queue_id;
  bool started;
  bool deferred_start;
  uint32_t stamp_bytes;  ///< regs::ipu::kStampBytes if frames are stamped, else 0.
  int stamp_offset;      ///< Of the mbuf's dynamic field,
  uint64_t stamp_flag;   ///< and the flag that goes with it.
  rte_mbuf none;         ///< In place of mbufs while the queue is stopped.
};

/// `cleaned` ≤ `tail` are free-running: mbufs of [cleaned, tail) are with the device.
struct alignas(RTE_CACHE_LINE_SIZE) TxQueue {
  regs::ipu::Descriptor* ring;
  rte_mbuf** mbufs;  ///< One per descriptor, by masked index.
  uint32_t mask;
  uint32_t tail;
  uint32_t cleaned;
  uint32_t clean_from;     ///< Reclaim once this many descriptors are in use.
  uint32_t address_field;  ///< AddressField.
  uint64_t packets;        ///< As in RxQueue.
  uint64_t bytes;
  bool fast_free;  ///< RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE: one pool, one reference, one segment.

  bar::Bar registers;
  uint32_t page;
  uint64_t bad_packet;     ///< More segments, or longer headers, than the device takes.
  uint64_t stop_discards;  ///< Of `packets`: that the device had not taken when the queue stopped.

  const rte_memzone* zone;
  Addresses addresses;
  uint64_t offloads;
  uint16_t port_id;
  uint16_t queue_id;
  bool started;
  bool deferred_start;
};

/// Creates a stopped queue of `entries` (power of two, regs::ipu::kMinRing …
/// kMaxRing) descriptors. Null if there is no memory.
RxQueue* RxCreate(bar::Bar registers, uint16_t port_id, uint16_t queue_id, uint32_t entries,
                  rte_mempool* pool, int socket, Addresses addresses = Addresses::kVirtual);
void RxDestroy(RxQueue* queue);
/// Frames are stamped from the next start on, in DPDK's field for it. 0 or a negative errno.
int RxStamp(RxQueue& queue);
/// Posts buffers and enables the ring. 0, -ENOMEM (the pool cannot fill the ring),
/// -EIO (the device refuses or does not answer). `scatter`: frames may span buffers.
int RxStart(RxQueue& queue, bool scatter);
/// Disables the ring and gives every buffer back.
void RxStop(RxQueue& queue);
/// Frames received and not yet fetched; stops counting at the first gap.
uint32_t RxPending(const RxQueue& queue);

TxQueue* TxCreate(bar::Bar registers, uint16_t port_id, uint16_t queue_id, uint32_t entries,
                  uint32_t free_threshold, uint64_t offloads, int socket,
                  Addresses addresses = Addresses::kVirtual);
void TxDestroy(TxQueue* queue);
int TxStart(TxQueue& queue);
/// Waits, bounded, until everything posted has left, then disables the ring and
/// frees what it held.
void TxStop(TxQueue& queue);
/// Frees mbufs of completed batches, up to `limit` descriptors (0: all). Returns how many.
uint32_t TxClean(TxQueue& queue, uint32_t limit);

/// Burst functions with ethdev's signatures; `queue` is an RxQueue or a TxQueue.
/// The plain and the vector one expect unscattered frames and give equal results.
uint16_t RxBurstScalar(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstVector(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstScattered(void* queue, rte_mbuf** packets, uint16_t count);
/// The same of queues whose frames are stamped.
uint16_t RxBurstScalarStamped(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstVectorStamped(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstScatteredStamped(void* queue, rte_mbuf** packets, uint16_t count);
/// Single-segment frames without offloads / everything.
uint16_t TxBurstSimple(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t TxBurstFull(void* queue, rte_mbuf** packets, uint16_t count);

/// Posts new buffers for consumed descriptors, in whole batches, with one doorbell.
void RxRefill(RxQueue& queue);

inline bool RxRefillDue(const RxQueue& queue) {
  return queue.mask + 1 - (queue.tail - queue.head) >= kBatch;
}

}  // namespace sluice::net_ipu
