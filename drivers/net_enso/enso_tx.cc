// SPDX-License-Identifier: BSD-3-Clause
//
// Transmit burst of the ethdev port: copies mbufs back to back into a TX pipe, each from a flit
// boundary, and sends the whole burst as one transfer. The NIC divides the byte stream into frames
// only by IPv4 total length. A wrong length would also affect all later frames, so frames are
// rejected here if the NIC would derive a wrong length from their headers (docs/enso-hardware.md,
// "Transmitting"). The burst function has two variants: plain, and with checksums computed in
// software.
#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include <algorithm>
#include <cstring>

#include "net_enso/enso_checksum.h"
#include "net_enso/enso_port.h"
#include "packet/frame_length.h"

namespace sluice::net_enso {
namespace {

using packet::kFlitBytes;

/// Number of bytes that are read to decide on the framing: the Ethernet and IPv4 headers.
constexpr uint32_t kHeaderBytes = 34;

inline bool Frameable(const rte_mbuf* mbuf) {
  const uint32_t length = mbuf->pkt_len;
  if (length > regs::enso::kMaxTxFrameFlits * kFlitBytes) [[unlikely]]
    return false;
  if (mbuf->data_len >= kHeaderBytes) [[likely]] {
    return packet::TotalLengthCutsWell(rte_pktmbuf_mtod(mbuf, const uint8_t*), length);
  }
  uint8_t copy[kHeaderBytes];
  const void* header = rte_pktmbuf_read(mbuf, 0, kHeaderBytes, copy);
  return header != nullptr &&
         packet::TotalLengthCutsWell(static_cast<const uint8_t*>(header), length);
}

/// Copies a frame to `to` and zeroes the rest of the frame's last flit, which the NIC sends if the
/// frame's header includes it.
inline void CopyFrame(uint8_t* to, const rte_mbuf* mbuf) {
  std::memset(to + packet::FlitSpan(mbuf->pkt_len) - kFlitBytes, 0, kFlitBytes);
  if (mbuf->nb_segs == 1) [[likely]] {
    rte_memcpy(to, rte_pktmbuf_mtod(mbuf, const void*), mbuf->data_len);
    return;
  }
  for (uint32_t left = mbuf->pkt_len; mbuf != nullptr && left != 0; mbuf = mbuf->next) {
    const uint32_t part = std::min<uint32_t>(mbuf->data_len, left);
    rte_memcpy(to, rte_pktmbuf_mtod(mbuf, const void*), part);
    to += part;
    left -= part;
  }
}

/// Fills in checksums in the mbuf's memory. Returns false if the mbuf is segmented or shared, or if
/// FillChecksums fails.
bool FillInPlace(rte_mbuf* mbuf) {
  if (mbuf->nb_segs != 1 || !RTE_MBUF_DIRECT(mbuf) || rte_mbuf_refcnt_read(mbuf) != 1) return false;
  if (!FillChecksums(*mbuf, rte_pktmbuf_mtod(mbuf, uint8_t*))) return false;
  mbuf->ol_flags &= ~kTxChecksumFlags;
  return true;
}

/// Sends a frame that the NIC cannot send to the exception port. Returns true on success.
template <bool kChecksums>
[[gnu::cold, gnu::noinline]] bool SendElsewhere(TxQueue& queue, rte_mbuf* mbuf) {
  if (queue.exception == nullptr) return false;
  if (kChecksums && (mbuf->ol_flags & kTxChecksumFlags) != 0 && !FillInPlace(mbuf)) return false;
  if (!queue.exception->Send(mbuf)) return false;
  ++queue.exceptions;
  return true;
}

template <bool kChecksums>
inline uint16_t Transmit(void* opaque, rte_mbuf** packets, uint16_t count) {
  auto& queue = *static_cast<TxQueue*>(opaque);
  Pipe* pipe = queue.pipe;
  queue.nb->ReapCompletions();
  if (pipe == &queue.none) [[unlikely]] {
    queue.full += count;
    return 0;
  }
  uint8_t* const start = pipe->At(pipe->tx_tail);
  uint8_t* to = start;
  const uint32_t free_flits =
      queue.nb->HasRoomToSend() ? pipe->flits - (pipe->tx_tail - pipe->tx_head) : 0;
  const uint8_t* const limit = start + size_t{free_flits} * kFlitBytes;
  uint16_t taken = 0;
  uint64_t bytes = 0;
  uint32_t refused = 0;
  for (; taken < count; ++taken) {
    rte_mbuf* const mbuf = packets[taken];
    if (!Frameable(mbuf)) [[unlikely]] {
      if (SendElsewhere<kChecksums>(queue, mbuf)) {
        bytes += mbuf->pkt_len;
      } else {
        ++refused;
        ++queue.unframeable;
      }
      continue;
    }
    const uint32_t span = packet::FlitSpan(mbuf->pkt_len);
    if (span > static_cast<size_t>(limit - to)) [[unlikely]]
      break;
    CopyFrame(to, mbuf);
    if constexpr (kChecksums) {
      if ((mbuf->ol_flags & kTxChecksumFlags) != 0 && !FillChecksums(*mbuf, to)) [[unlikely]] {
        ++refused;
        ++queue.bad_packet;
        continue;
      }
    }
    to += span;
    bytes += mbuf->pkt_len;
  }
  if (to != start) {
    queue.nb->Send(pipe, start, static_cast<uint32_t>(to - start), 0);
    queue.nb->Flush();
  }
  rte_pktmbuf_free_bulk(packets, taken);
  queue.counters.packets += taken - refused;
  queue.counters.bytes += bytes;
  queue.full += count - taken;
  return taken;
}

}  // namespace

uint16_t TxBurst(void* queue, rte_mbuf** packets, uint16_t count) {
  return Transmit<false>(queue, packets, count);
}
uint16_t TxBurstChecksums(void* queue, rte_mbuf** packets, uint16_t count) {
  return Transmit<true>(queue, packets, count);
}

int CleanTxQueue(void* opaque, uint32_t) {
  // mbufs are copied and freed within the burst, so none of them is outstanding.
  auto* const nb = static_cast<TxQueue*>(opaque)->nb;
  if (nb != nullptr) nb->ReapCompletions();  // Null if the port is stopped.
  return 0;
}

}  // namespace sluice::net_enso
