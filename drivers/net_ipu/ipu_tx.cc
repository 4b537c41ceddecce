// SPDX-License-Identifier: BSD-3-Clause
//
// Transmit rings: life cycle, reclaim, and the burst functions.
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include <algorithm>
#include <cerrno>

#include "bar/fence.h"
#include "net_ipu/ipu_queue.h"
#include "net_ipu/ipu_ring.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

/// Time in milliseconds that TxStop waits for a ring to drain.
constexpr uint64_t kDrainTimeoutMs = 500;

constexpr uint64_t kChecksumFlags =
    RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM;
constexpr uint64_t kCommandFlags =
    kChecksumFlags | RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_IEEE1588_TMST | RTE_MBUF_F_TX_TCP_SEG;

uint32_t Free(const TxQueue& queue) { return queue.mask + 1 - (queue.tail - queue.cleaned); }

/// Returns whether the oldest batch is complete. Every kBatch-th descriptor of the ring requests a
/// completion report, which covers all earlier descriptors.
bool BatchDone(TxQueue& queue) {
  const uint32_t report = (queue.cleaned + kBatch - 1) & queue.mask;
  return queue.tail - queue.cleaned >= kBatch &&
         bar::LoadFromDevice(queue.ring[report].high) == kDone;
}

/// Frees the segments of `mbufs`, in runs from the same pool.
void FreeSegments(rte_mbuf** mbufs, uint32_t count) {
  rte_mbuf* run[kBatch];
  uint32_t pending = 0;
  for (uint32_t i = 0; i < count; ++i) {
    rte_mbuf* const mbuf = rte_pktmbuf_prefree_seg(mbufs[i]);
    if (mbuf == nullptr) continue;
    if (pending != 0 && (pending == kBatch || mbuf->pool != run[0]->pool)) {
      rte_mempool_put_bulk(run[0]->pool, reinterpret_cast<void**>(run), pending);
      pending = 0;
    }
    run[pending++] = mbuf;
  }
  if (pending != 0) rte_mempool_put_bulk(run[0]->pool, reinterpret_cast<void**>(run), pending);
}

/// Frees the oldest batch, which does not wrap in the ring.
inline void CleanBatch(TxQueue& queue) {
  rte_mbuf** const mbufs = queue.mbufs + (queue.cleaned & queue.mask);
  if (queue.fast_free) {
    rte_mempool_put_bulk(mbufs[0]->pool, reinterpret_cast<void**>(mbufs), kBatch);
  } else {
    FreeSegments(mbufs, kBatch);
  }
  queue.cleaned += kBatch;
}

inline void Clean(TxQueue& queue) {
  while (BatchDone(queue)) CleanBatch(queue);
}

inline void CleanIfDue(TxQueue& queue) {
  if (queue.tail - queue.cleaned >= queue.clean_from) Clean(queue);
}

/// Sets the report bit on the descriptors of [from, to) that end a batch.
inline void RequestReports(TxQueue& queue, uint32_t from, uint32_t to) {
  for (uint32_t i = from | (kBatch - 1); static_cast<int32_t>(to - i) > 0; i += kBatch) {
    queue.ring[i & queue.mask].high |= kTxReport;
  }
}

inline uint64_t DataAddress(const rte_mbuf* mbuf, size_t field) {
  return BufferBus(mbuf, field) + mbuf->data_off;
}

/// Fills a descriptor for a frame. Returns the frame's length in bytes.
inline uint64_t FillOne(Descriptor& descriptor, const rte_mbuf* mbuf, size_t field) {
  static_assert(kTxEndOfPacket > UINT16_MAX);  // So the sum below is a combination of bits.
  const uint64_t length = mbuf->data_len;
  descriptor.low = DataAddress(mbuf, field);
  descriptor.high = length + kTxEndOfPacket;
  return length;
}

/// Fills `count` descriptors, which are contiguous in the ring. Returns the sum of the frames'
/// lengths in bytes.
inline uint64_t Fill(TxQueue& queue, uint32_t at, rte_mbuf* const* packets, uint32_t count) {
  constexpr size_t kGroup = 4;
  Descriptor* const ring = queue.ring + at;
  rte_mbuf** const mbufs = queue.mbufs + at;
  const size_t field = queue.address_field;
  uint64_t bytes = 0;
  size_t i = 0;
  for (; i + kGroup <= count; i += kGroup) {
    rte_mov32(reinterpret_cast<uint8_t*>(mbufs + i), reinterpret_cast<const uint8_t*>(packets + i));
#pragma GCC unroll 4
    for (size_t j = i; j < i + kGroup; ++j) bytes += FillOne(ring[j], packets[j], field);
  }
  for (; i < count; ++i) {
    mbufs[i] = packets[i];
    bytes += FillOne(ring[i], packets[i], field);
  }
  return bytes;
}

/// Returns the number of frames in a disabled ring that the device has not completed.
uint32_t NotTaken(TxQueue& queue) {
  const uint32_t head = queue.registers.Read32(queue.page + kRingHead);
  if (queue.tail - head > queue.tail - queue.cleaned)
    return 0;  // The link is down, or the head is invalid.
  uint32_t frames = 0;
  for (uint32_t i = head; i != queue.tail; ++i) {
    frames += (queue.ring[i & queue.mask].high & kTxEndOfPacket) != 0;
  }
  return frames;
}

/// Returns whether a checksum is requested for a header that is too long for the descriptor.
bool HeaderIsTooLong(const rte_mbuf* mbuf) {
  return (mbuf->ol_flags & (kChecksumFlags | RTE_MBUF_F_TX_TCP_SEG)) != 0 && mbuf->l3_len > 0xff;
}

/// Returns the offload bits for the first descriptor of a frame.
uint64_t Command(const rte_mbuf* mbuf) {
  if ((mbuf->ol_flags & kCommandFlags) == 0) return 0;
  uint64_t command = uint64_t{mbuf->l2_len} << kTxIpOffsetShift | (uint64_t{mbuf->l3_len} & 0xff)
                                                                      << kTxIpLengthShift;
  if (mbuf->ol_flags & RTE_MBUF_F_TX_TCP_SEG) {
    // The descriptor cannot contain both a tag and a segment size; a frame with both gets an
    // invalid descriptor.
    const bool tagged = (mbuf->ol_flags & RTE_MBUF_F_TX_VLAN) != 0;
    return command | kTxSegment | uint64_t{mbuf->l4_len} << kTxL4FieldShift |
           (tagged ? 0 : uint64_t{mbuf->tso_segsz} << kTxTagShift);
  }
  if (mbuf->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) command |= kTxIpChecksum;
  const uint64_t l4 = mbuf->ol_flags & RTE_MBUF_F_TX_L4_MASK;
  if (l4 == RTE_MBUF_F_TX_UDP_CKSUM) command |= kTxL4Checksum | uint64_t{6} << kTxL4FieldShift;
  if (l4 == RTE_MBUF_F_TX_TCP_CKSUM) command |= kTxL4Checksum | uint64_t{16} << kTxL4FieldShift;
  if (mbuf->ol_flags & RTE_MBUF_F_TX_VLAN) {
    command |= kTxTag | uint64_t{mbuf->vlan_tci} << kTxTagShift;
  }
  if (mbuf->ol_flags & RTE_MBUF_F_TX_IEEE1588_TMST) command |= kTxStamp;
  return command;
}

}  // namespace

TxQueue* TxCreate(bar::Bar registers, uint16_t port_id, uint16_t queue_id, uint32_t entries,
                  uint32_t free_threshold, uint64_t offloads, int socket, Addresses addresses) {
  auto* const queue = CreateQueue<TxQueue>("tx", port_id, queue_id, entries, socket, addresses);
  if (queue == nullptr) return nullptr;
  queue->registers = registers;
  queue->page = QueuePage(queue_id) + kTxBlock;
  queue->clean_from = entries - std::min(free_threshold, entries - kBatch);
  queue->offloads = offloads;
  queue->fast_free = (offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0;
  Close(*queue);
  return queue;
}

void TxDestroy(TxQueue* queue) {
  if (queue == nullptr) return;
  TxStop(*queue);
  DestroyQueue(queue);
}

int TxStart(TxQueue& queue) {
  queue.tail = queue.cleaned = 0;
  ClearRing(queue);
  queue.registers.Write64(queue.page + kRingBase, RingBus(queue));
  queue.registers.Write32(queue.page + kRingEntries, queue.mask + 1);
  queue.registers.Write32(queue.page + kRingControl, kRingEnable);
  queue.started = true;
  if (queue.registers.Read32(queue.page + kRingStatus) != 1) {
    TxStop(queue);
    return -EIO;
  }
  return 0;
}

void TxStop(TxQueue& queue) {
  if (!queue.started) return;
  const uint64_t deadline = rte_get_timer_cycles() + rte_get_timer_hz() * kDrainTimeoutMs / 1000;
  while (queue.registers.Read32(queue.page + kRingHead) != queue.tail && queue.registers.LinkUp() &&
         rte_get_timer_cycles() < deadline) {
  }
  queue.registers.Write32(queue.page + kRingControl, 0);
  queue.registers.Read32(
      queue.page +
      kRingStatus);  // The read returns after the store: the device has released the ring.
  queue.stop_discards += NotTaken(queue);
  for (; queue.cleaned != queue.tail; ++queue.cleaned) {
    rte_pktmbuf_free_seg(queue.mbufs[queue.cleaned & queue.mask]);
  }
  Close(queue);
  queue.started = false;
}

uint32_t TxClean(TxQueue& queue, uint32_t limit) {
  const uint32_t before = queue.cleaned;
  while ((limit == 0 || queue.cleaned - before < limit) && BatchDone(queue)) CleanBatch(queue);
  return queue.cleaned - before;
}

uint16_t TxBurstSimple(void* opaque, rte_mbuf** packets, uint16_t count) {
  TxQueue& queue = *static_cast<TxQueue*>(opaque);
  CleanIfDue(queue);
  const uint32_t sent = std::min<uint32_t>(count, Free(queue));
  if (sent == 0) [[unlikely]]
    return 0;
  const uint32_t at = queue.tail & queue.mask;
  const uint32_t run = std::min(sent, queue.mask + 1 - at);
  queue.bytes += Fill(queue, at, packets, run);
  if (run != sent) [[unlikely]]
    queue.bytes += Fill(queue, 0, packets + run, sent - run);
  const uint32_t before = queue.tail;
  queue.tail += sent;
  RequestReports(queue, before, queue.tail);
  queue.packets += sent;
  queue.registers.Write32(queue.page + kRingTail, queue.tail);
  return static_cast<uint16_t>(sent);
}

uint16_t TxBurstFull(void* opaque, rte_mbuf** packets, uint16_t count) {
  TxQueue& queue = *static_cast<TxQueue*>(opaque);
  CleanIfDue(queue);
  const uint32_t before = queue.tail;
  uint16_t sent = 0;
  for (; sent < count; ++sent) {
    rte_mbuf* const packet = packets[sent];
    if (packet->nb_segs > kMaxSegments || HeaderIsTooLong(packet)) [[unlikely]] {
      ++queue.bad_packet;
      rte_pktmbuf_free(packet);
      continue;
    }
    if (Free(queue) < packet->nb_segs) [[unlikely]] {
      // Reclaims more descriptors, because this frame may need more of them than the regular
      // threshold keeps free.
      Clean(queue);
      if (Free(queue) < packet->nb_segs) break;
    }
    uint64_t command = Command(packet);
    for (rte_mbuf* segment = packet; segment != nullptr; segment = segment->next, command = 0) {
      const uint32_t at = queue.tail++ & queue.mask;
      queue.mbufs[at] = segment;
      queue.ring[at].low = DataAddress(segment, queue.address_field);
      queue.ring[at].high =
          segment->data_len | command | (segment->next == nullptr ? kTxEndOfPacket : 0);
    }
    ++queue.packets;
    queue.bytes += packet->pkt_len;
  }
  if (queue.tail == before) return sent;
  RequestReports(queue, before, queue.tail);
  queue.registers.Write32(queue.page + kRingTail, queue.tail);
  return sent;
}

}  // namespace sluice::net_ipu
